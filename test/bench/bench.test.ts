import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Result } from '../../bench/result.ts'
import { builtPackage } from '../cli/cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The whole benchmark as its own process, with the smallest sizes. It ends with 1 when a left-check fails. */
async function bench(...args: string[]): Promise<Result> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'jiti/register', 'bench/main.ts', '--tiny', '--json', ...args],
    { cwd: root, env: { ...process.env, SKEP_BENCH_PACKAGE: builtPackage() }, maxBuffer: 1e8 },
  )
  return JSON.parse(stdout) as Result
}

function measured({ figures }: Result, contestant: string): Set<string> {
  const own = figures.filter((figure) => figure.contestant === contestant)
  return new Set(own.map(({ scenario, measure }) => `${scenario}: ${measure}`))
}

describe('the benchmark', () => {
  it('measures Skep and the raw databases, and loses no job', async () => {
    const result = await bench('--only', 'skep,raw', '--scenario', 'enqueue,drain-one,latency')

    const expected = ['enqueue, one awaited: jobs/s', 'enqueue, 100 callers: jobs/s', 'enqueue, bulk: jobs/s']
    const drained = ['jobs/s', 'worker CPU us/job', 'worker RSS MB'].map(
      (name) => `drain, 1 process: ${name}`,
    )
    for (const { name, store } of result.contestants.filter(({ name }) => name !== 'Skep, NATS')) {
      const wal = store === 'postgres' ? ['drain, 1 process: WAL bytes/job'] : []
      expect([...measured(result, name)], name).toEqual(
        expect.arrayContaining([...expected, ...drained, ...wal]),
      )
    }
    expect(measured(result, 'Skep')).toContain('idle latency: p99 ms')
    expect(result.contestants.length).toBeGreaterThanOrEqual(4)
    expect(result.figures.filter(({ value }) => !(value > 0 && Number.isFinite(value)))).toEqual([])
  }, 120_000)

  it('measures lanes, order, rates and delays, and keeps the order', async () => {
    const scenarios = 'lanes-1k,strict,throttled,whale,rate,lateness'
    const result = await bench('--only', 'Skep, SQLite', '--only', 'Skep, Redis', '--scenario', scenarios)

    for (const { name } of result.contestants) {
      expect([...measured(result, name)], name).toEqual(
        expect.arrayContaining([
          'lanes-1k: jobs/s',
          'strict: jobs/s',
          'throttled: ratio',
          'whale: p99 ms',
          'whale: no-op p99 ms',
          'rate: ratio',
          'rate: fullest second',
          'lateness: p99 ms',
        ]),
      )
    }
    expect(result.contestants).toHaveLength(2)
    expect(result.notes).toBeUndefined()
  }, 240_000)

  it('measures flows, and sees that every job gets the results it waits for', async () => {
    const result = await bench('--only', 'skep', '--scenario', 'flow-children,flow-chain')

    const stores = ['Skep', 'Skep, SQLite', 'Skep, Redis']
    const names = stores.flatMap((name) => [name, `${name}, flow()`])
    expect(result.contestants.map(({ name }) => name)).toEqual(names)
    for (const name of names) {
      expect([...measured(result, name)], name).toEqual(
        expect.arrayContaining(['flow-children: flows/s', 'flow-chain: flows/s']),
      )
    }
    expect(result.notes).toBeUndefined()
  }, 120_000)
})
