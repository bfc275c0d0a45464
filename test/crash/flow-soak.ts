/**
 * Flows in processes that are killed, for long. One JSON line on standard output at the end:
 *
 *   node --import jiti/register test/crash/flow-soak.ts --store sqlite --kills 500 [--seed n]
 */
import { parseArgs } from 'node:util'
import { runFlowKills } from './flow-kills.ts'
import { openSoakStore } from './soak-store.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const { store, kills, seed } = values

const { address, folder, remove } = await openSoakStore(store)
try {
  const { violations, ...measured } = await runFlowKills({
    address,
    folder,
    kills: Number(kills),
    seed: Number(seed),
  })
  const ok = violations.length === 0
  console.log(
    JSON.stringify({
      name: `flows on ${store}`,
      ok,
      measured: { seed, ...measured },
      violations: violations.slice(0, 50),
    }),
  )
  process.exitCode = ok ? 0 : 1
} finally {
  await remove()
}
