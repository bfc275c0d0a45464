/**
 * So many slots of schedules with a process killed around each. One JSON line on standard output at the end:
 *
 *   node --import jiti/register test/crash/slot-soak.ts --store sqlite --slots 1000 [--every 400] [--minutes 15] [--seed n]
 */
import { parseArgs } from 'node:util'
import { runSlotKills } from './slot-kills.ts'
import { openSoakStore } from './soak-store.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    slots: { type: 'string', default: '1000' },
    every: { type: 'string', default: '400' },
    minutes: { type: 'string', default: '15' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const { store, slots, every, minutes, seed } = values

const { address, remove } = await openSoakStore(store)
try {
  const { violations, ...measured } = await runSlotKills({
    address,
    slots: Number(slots),
    everyMs: Number(every),
    mostMs: Number(minutes) * 60_000,
    seed: Number(seed),
    onProgress: (line) => console.error(`${store}: ${line}`),
  })
  const all =
    measured.slotsWithKill < Number(slots)
      ? [...violations, `There was time for kills around ${measured.slotsWithKill} of ${slots} slots.`]
      : violations
  const ok = all.length === 0
  const row = { name: `slots on ${store}`, ok, measured: { seed, ...measured } }
  console.log(JSON.stringify({ ...row, violations: all.slice(0, 50) }))
  process.exitCode = ok ? 0 : 1
} finally {
  await remove()
}
