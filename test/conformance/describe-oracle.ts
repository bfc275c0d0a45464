import fc from 'fast-check'
import { describe, it } from 'vitest'
import { type OracleOptions, runOracle } from '../../src/testing.ts'

export interface DescribeOracleOptions
  extends Pick<OracleOptions, 'compare' | 'reopen' | 'audit' | 'shrinkRuns'> {
  /** How many seeds that are the same in every run. */
  readonly seeds: number
  /** How many seeds that nobody has tried before. @default a tenth */
  readonly freshSeeds?: number
  readonly commands?: number
}

/** Runs the oracle on fixed seeds, and on some new ones. `SKEP_SEED=<seed>` runs that one alone. */
export function describeOracle(
  name: string,
  open: OracleOptions['open'],
  { seeds, freshSeeds = Math.ceil(seeds / 10), commands = 60, ...options }: DescribeOracleOptions,
): void {
  const run = (seed: number): Promise<void> => {
    const replay = `SKEP_SEED=${seed} npx vitest run test/conformance/${name}.test.ts -t "random commands"`
    return runOracle({ open, seed, commands, replay, ...options })
  }
  const only = process.env['SKEP_SEED']

  describe(`${name} under random commands`, () => {
    if (only !== undefined) {
      it(`does as the rules say with seed ${only}`, () => run(Number(only)))
      return
    }
    it(`does as the rules say with seeds 1 to ${seeds}`, async () => {
      for (let seed = 1; seed <= seeds; seed++) await run(seed)
    }, 120_000)

    it(`does as the rules say with ${freshSeeds} new seeds`, async () => {
      // Another seed is no smaller a case: the oracle shortens the commands itself.
      await fc.assert(fc.asyncProperty(fc.nat(), run), { numRuns: freshSeeds, endOnFailure: true })
    }, 120_000)
  })
}
