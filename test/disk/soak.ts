/**
 * Many power cuts under SQLite: `node --import jiti/register test/disk/soak.ts --cuts 120 [--seed 1]`.
 * Prints one line of JSON; what it does meanwhile goes to standard error.
 */
import { parseArgs } from 'node:util'
import { runChain } from './power-cut.ts'
import { type Cut, PowerDisk, whyNoPowerDisk } from './power-disk.ts'

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '120' }, seed: { type: 'string', default: '1' } },
})

/** Mostly ten cuts in a row on one database, and some single ones, each followed by a drain. */
const CHAIN_LENGTHS = [10, 1, 1]

interface Sum {
  cuts: number
  acknowledged: number
  ended: number
  lost: number
  chains: number
  /** Cuts that came while the log was taken over into the database, while it was written, while it was made. */
  inCheckpoint: number
  inLog: number
  inNames: number
  forgottenWrites: number
  keptWrites: number
  tornWrites: number
}

async function soak(cuts: number, firstSeed: number): Promise<{ sum: Sum; violations: string[] }> {
  const sum: Sum = {
    cuts: 0,
    acknowledged: 0,
    ended: 0,
    lost: 0,
    chains: 0,
    inCheckpoint: 0,
    inLog: 0,
    inNames: 0,
    forgottenWrites: 0,
    keptWrites: 0,
    tornWrites: 0,
  }
  const violations: string[] = []
  const disk = await PowerDisk.start()
  try {
    while (sum.cuts < cuts) {
      const length = CHAIN_LENGTHS[sum.chains % CHAIN_LENGTHS.length] as number
      const seed = firstSeed + sum.chains
      const report = await runChain(disk, { seed, cuts: Math.min(length, cuts - sum.cuts) })
      sum.chains++
      sum.acknowledged += report.acknowledged
      sum.ended += report.ended
      sum.lost += report.lost
      for (const cut of report.cuts) add(sum, cut)
      violations.push(...report.violations)
      console.error(`${sum.cuts} cuts, ${sum.acknowledged} acknowledged, ${sum.lost} lost, seed ${seed}`)
    }
  } finally {
    await disk.stop()
  }
  return { sum, violations }
}

function add(sum: Sum, { pending, forgotten, kept, torn }: Cut): void {
  sum.cuts++
  if (pending['jobs.db']) sum.inCheckpoint++
  if (pending['jobs.db-wal']) sum.inLog++
  if (pending['.']) sum.inNames++
  sum.forgottenWrites += forgotten
  sum.keptWrites += kept
  sum.tornWrites += torn
}

const name = 'power cuts on SQLite'
const reason = whyNoPowerDisk()
if (reason !== undefined) {
  console.log(JSON.stringify({ name, ok: false, measured: {}, violations: [`not run: ${reason}`] }))
  process.exitCode = 1
} else {
  const startedAt = performance.now()
  const { sum, violations } = await soak(Number(values.cuts), Number(values.seed))
  const measured = { ...sum, seconds: Math.round((performance.now() - startedAt) / 1_000) }
  const ok = violations.length === 0 && sum.lost === 0
  console.log(JSON.stringify({ name, ok, measured, violations: violations.slice(0, 100) }))
  if (!ok) process.exitCode = 1
}
