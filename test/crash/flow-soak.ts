/**
 * Flows in processes that are killed, for long. One JSON line on standard output at the end:
 *
 *   node --import jiti/register test/crash/flow-soak.ts --store sqlite --kills 500 [--seed n]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFlowKills } from './flow-kills.ts'
import { startMortalPostgres } from './mortal-postgres.ts'
import { startMortalRedis } from './mortal-redis.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const { store, kills, seed } = values
if (store !== 'sqlite' && store !== 'postgres' && store !== 'redis') {
  throw new Error('Say --store sqlite, --store postgres or --store redis.')
}

const folder = mkdtempSync(join(tmpdir(), 'skep-flow-soak-'))
const server =
  store === 'postgres' ? await startMortalPostgres() : store === 'redis' ? await startMortalRedis() : null
const address = !server
  ? { file: join(folder, 'jobs.db') }
  : store === 'redis'
    ? { redis: server.url, prefix: 'skep' }
    : { url: server.url }
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
  await server?.remove()
  rmSync(folder, { recursive: true, force: true })
}
