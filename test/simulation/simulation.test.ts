import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { describeReport } from '../proof/checker/index.ts'
import { REGRESSIONS } from './regressions.ts'
import { replayLine } from './replay.ts'
import { prepareStore, type StoreName } from './stores.ts'
import { Trial, type TrialResult } from './trial.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const run = promisify(execFile)

async function trial(store: StoreName, seed: number): Promise<TrialResult> {
  await prepareStore(store)
  return new Trial(seed, store).run()
}

/** What a person needs to see when a trial fails. */
function story(result: TrialResult): string {
  const { report, store, seed } = result
  return report.violations.length === 0 ? '' : `${describeReport(report)}\nreplay: ${replayLine(store, seed)}`
}

describe('trials that find a bug when it is put back', () => {
  it.each(REGRESSIONS)('$story ($store, seed $seed)', async ({ store, seed }) => {
    expect(story(await trial(store, seed))).toBe('')
  })
})

describe('the simulator', () => {
  it.each(['memory', 'sqlite'] as const)(
    'gives the same trace for the same seed in two processes (%s)',
    async (store) => {
      const hashes = async (): Promise<string> => {
        const args = ['--import', 'jiti/register', main, '--store', store, '--seed', '500', '--trials', '10']
        return (await run(process.execPath, [...args, '--hash'])).stdout
          .split('\n')
          .filter((line) => /^\d+ [0-9a-f]{16}$/.test(line))
          .join('\n')
      }
      const [first, second] = [await hashes(), await hashes()]
      expect(first.split('\n')).toHaveLength(10)
      expect(second).toBe(first)
    },
    60_000,
  )

  it('gives different traces for different seeds', async () => {
    const hashes = [await trial('memory', 1), await trial('memory', 2)].map(({ hash }) => hash())
    expect(new Set(hashes).size).toBe(2)
  })
})
