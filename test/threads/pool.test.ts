import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { DEFAULT_POLICY } from '../../src/core/policies/policy.ts'
import { silentLogger } from '../../src/index.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { type VirtualRuntime, virtualRuntime } from '../../src/testing/virtual-runtime.ts'
import { StopSignal } from '../../src/worker/executor.ts'
import { type HandlerSpec, RunLostError } from '../../src/worker/handler.ts'
import { Run } from '../../src/worker/runs.ts'
import { resolveThreadOptions, type ThreadOptions } from '../../src/worker/threads/options.ts'
import { ThreadPool, type ThreadPoolParts } from '../../src/worker/threads/pool.ts'
import type { Task } from './modules/queues.ts'
import { testModules } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts' })

function newPool(
  options: ThreadOptions,
  parts: Partial<ThreadPoolParts> = {},
): { pool: ThreadPool; runtime: VirtualRuntime } {
  const runtime = virtualRuntime({ seed: 1 })
  const pool = new ThreadPool({
    runtime,
    logger: silentLogger,
    data: { space: 'default', queue: 'work', payloadBytes: LIMITS.payloadBytes },
    options: resolveThreadOptions(module('work.mjs'), options),
    onCall: () => {},
    onQuestion: async () => null,
    ...parts,
  })
  return { pool, runtime }
}

async function openPool(...how: Parameters<typeof newPool>): Promise<ReturnType<typeof newPool>> {
  const { pool, runtime } = newPool(...how)
  await pool.start()
  const open = runs.length
  onTestFinished(async () => {
    for (const run of runs.slice(open)) run.abort(new StopSignal('stop', 'The test is over.'))
    const stopped = pool.stop()
    await runtime.advance(60_000)
    await stopped
  })
  return { pool, runtime }
}

const runs: Run[] = []
const { uuid } = systemRuntime()

function newRun(task: Task): Run {
  const job = { id: uuid(), queue: 'work', space: 'default', payload: JSON.stringify(task), headers: null }
  const spec = { policyOf: () => DEFAULT_POLICY } as unknown as HandlerSpec
  const run = new Run(
    { ...job, overrides: null, starts: 1, enqueuedAt: 0 } as unknown as ClaimedJob,
    spec,
    0,
    0,
  )
  runs.push(run)
  return run
}

describe('a pool of threads', () => {
  it('keeps a thread for the next job, and starts no more than are needed', async () => {
    const { pool } = await openPool({ threads: 4 })

    const first = await pool.run(newRun({ do: 'thread' }))
    const second = await pool.run(newRun({ do: 'thread' }))

    expect(second).toBe(first)
  })

  it('starts no more threads than it may have, however many jobs wait', async () => {
    const { pool } = await openPool({ threads: 2 })

    const ids = await Promise.all(Array.from({ length: 8 }, () => pool.run(newRun({ do: 'thread' }))))

    expect(ids).toHaveLength(8)
    expect(new Set(ids).size).toBeLessThanOrEqual(2)
  })

  it('runs jobs beside each other', async () => {
    const { pool } = await openPool({ threads: 2 })

    const stuck = pool.run(newRun({ do: 'wait' }))
    const other = await pool.run(newRun({ do: 'add', a: 1, b: 2 }))

    expect(other).toBe('3')
    const isStuck = await Promise.race([stuck.catch(() => false), Promise.resolve(true)])
    expect(isStuck).toBe(true)
    stuck.catch(() => {})
  })

  it('waits before it replaces a thread that died', async () => {
    const { pool, runtime } = await openPool({ threads: 1 })
    await expect(pool.run(newRun({ do: 'exit' }))).rejects.toBeInstanceOf(RunLostError)

    const next = pool.run(newRun({ do: 'add', a: 1, b: 2 }))
    // Nothing may happen, so there is no signal to wait for. A thread would be there long before.
    const early = await Promise.race([next, wait(500, 'waits')])
    await runtime.advance(1_000)

    expect(early).toBe('waits')
    expect(await next).toBe('3')
  })

  it('waits longer after each death, and not at all after an answer', async () => {
    const { pool, runtime } = await openPool({ threads: 1 })
    const waits: number[] = []
    const measure = async (task: Task): Promise<void> => {
      const since = runtime.mono()
      const run = pool.run(newRun(task)).catch(() => {})
      while (runtime.timers > 0) await runtime.advance(10)
      waits.push(runtime.mono() - since)
      await run
    }

    await measure({ do: 'exit' })
    await measure({ do: 'exit' })
    await measure({ do: 'exit' })
    await measure({ do: 'exit' })
    await measure({ do: 'add', a: 1, b: 2 })
    await measure({ do: 'exit' })
    await measure({ do: 'exit' })

    const [none, first, , third, , afterAnswer, again] = waits as [number, ...number[]]
    expect(none).toBe(0)
    expect(first).toBeGreaterThan(0)
    expect(third).toBeGreaterThan(first as number)
    expect(afterAnswer).toBe(0)
    expect(again).toBeLessThan(third as number)
  })

  it('kills a thread whose run was aborted when the grace is over, and not before', async () => {
    const { pool, runtime } = await openPool({ threads: 1, grace: '1s' })
    const run = newRun({ do: 'spin' })
    const spinning = pool.run(run)
    let isOver = false
    spinning.catch(() => {
      isOver = true
    })

    run.abort(new StopSignal('timeout', 'too long'))
    await runtime.advance(999)
    const early = isOver
    await runtime.advance(1)

    await expect(spinning).rejects.toBeInstanceOf(RunLostError)
    expect(early).toBe(false)
  })

  it('replaces a thread that it killed without a wait', async () => {
    const { pool, runtime } = await openPool({ threads: 1, grace: '1s' })
    const run = newRun({ do: 'spin' })
    const spinning = pool.run(run)
    const killed = expect(spinning).rejects.toBeInstanceOf(RunLostError)
    run.abort(new StopSignal('timeout', 'too long'))
    await runtime.advance(1_000)
    await killed

    expect(await pool.run(newRun({ do: 'add', a: 1, b: 2 }))).toBe('3')
  })

  it('lets go of a job that is aborted while it waits for a thread', async () => {
    const { pool } = await openPool({ threads: 1 })
    pool.run(newRun({ do: 'wait' })).catch(() => {})
    const run = newRun({ do: 'add', a: 1, b: 2 })
    const waiting = pool.run(run)

    run.abort(new StopSignal('cancel', 'no longer needed'))

    await expect(waiting).rejects.toMatchObject({ kind: 'cancel', message: 'no longer needed' })
  })

  it('passes on what a handler asks of its worker', async () => {
    const asked: unknown[] = []
    const onCall = (run: Run, method: string, values: readonly unknown[]): void =>
      void asked.push([run.job.id, method, values])
    const { pool } = await openPool({ threads: 1 }, { onCall })
    const run = newRun({ do: 'call' })

    await pool.run(run)

    expect(asked).toEqual([[run.job.id, 'progress', [0.5, 'half']]])
  })

  it('passes over what a handler asks in vain, and goes on', async () => {
    const log: string[] = []
    const logger = { ...silentLogger, warn: (message: string) => void log.push(message) }
    const onCall = (): void => {
      throw new Error('no such progress')
    }
    const { pool } = await openPool({ threads: 1 }, { onCall, logger })

    expect(await pool.run(newRun({ do: 'call' }))).toBe('"called"')
    expect(log).toEqual([expect.stringMatching(/^progress of job ".+" failed: no such progress$/)])
  })

  it('gives up its start when it is stopped meanwhile', async () => {
    const { pool, runtime } = newPool({ threads: 1 })
    const started = pool.start()

    await Promise.all([expect(started).rejects.toThrow('The worker stops.'), pool.stop()])

    expect(runtime.timers).toBe(0)
  })

  it('gives up its start when the module takes too long', async () => {
    const never = new URL('data:text/javascript,setInterval(() => {}, 1000)')
    const { pool, runtime } = newPool({}, { options: resolveThreadOptions(never) })
    const started = pool.start()
    const refused = expect(started).rejects.toMatchObject({ code: 'THREAD_MODULE_INVALID' })

    await runtime.advance(60_000)

    await refused
  })
})
