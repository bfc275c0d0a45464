import { describe, expect, it } from 'vitest'
import {
  failFast,
  first,
  fixed,
  type JobContext,
  never,
  queue,
  retry,
  type Settled,
  settled,
} from '../../src/index.ts'
import { aborted, codeOf, openScene } from '../worker/support/scene.ts'

const square = queue<number, number>('square')
const sum = queue<{ label: string }, number>('sum')
const pair = queue<[number, number], number>('pair')
const area = queue<{ width: number; height: number }, number>('area')
const chunks = queue<readonly number[], number>('chunks')
const wait = queue<number, number>('wait')
const after = queue<string>('after')

describe('groups', () => {
  it('map and reduce without polling', async () => {
    const scene = openScene()
    const sums: number[] = []
    scene.skep.worker([
      square.handle(({ payload }) => payload * payload),
      sum.handle(async ({ results }) => {
        const squares = await results<number>()
        const total = squares.reduce((all, one) => all + (one.ok ? one.result : 0), 0)
        sums.push(total)
        return total
      }),
    ])

    const numbers = Array.from({ length: 100 }, (_, n) => n + 1)
    await scene.skep.groups.chord(
      numbers.map((n) => square.job(n)),
      sum.job({ label: 'all' }),
    )
    await scene.until(() => sums.length === 1)

    expect(sums).toEqual([338_350])
  })

  it('are followed when the last member has ended, and not before', async () => {
    const scene = openScene()
    const late = queue<number, number>('late')
    scene.skep.worker([square.handle(({ payload }) => payload), sum.handle(() => 0)])

    await scene.skep.groups.chord([square.job(1), late.job(2)], sum.job({ label: 'all' }))
    await scene.until(async () => (await scene.counts('square')).done === 1)
    await scene.advance(10_000)
    expect(await scene.counts('sum')).toEqual({})

    scene.client().worker([late.handle(({ payload }) => payload)])
    await scene.until(async () => (await scene.counts('sum')).done === 1)
  })

  it('chain jobs, each with the result of the one before it', async () => {
    const scene = openScene()
    const seen: unknown[] = []
    const add = queue<number, number>('add')
    scene.skep.worker([
      add.handle(async ({ payload, results }) => {
        const [before] = await results<number>()
        const total = payload + (before?.ok ? before.result : 0)
        seen.push(total)
        return total
      }),
    ])

    await scene.skep.groups.chain([1, 2, 3, 4].map((n) => add.job(n)))
    await scene.until(() => seen.length === 4)

    expect(seen).toEqual([1, 3, 6, 10])
  })

  it('go on with a chain for a while, before what waits', async () => {
    const scene = openScene()
    const order: number[] = []
    const work = queue<number>('work')
    scene.skep.worker(
      [
        work.handle(async ({ payload }) => {
          order.push(payload)
          await new Promise<void>((resolve) => void scene.runtime.timer(300, resolve))
        }),
      ],
      { concurrency: 1 },
    )

    await scene.skep.groups.chain([1, 2, 3, 4, 5, 6].map((n) => work.job(n)))
    await scene.skep.enqueueMany(work, [10, 20])
    await scene.until(() => order.length === 8)

    // The turn of a chain is over after a second.
    expect(order).toEqual([1, 2, 3, 4, 10, 20, 5, 6])
  })

  it('call back for a batch: at the first death, and when all have ended', async () => {
    const scene = openScene()
    const calls: string[] = []
    const work = queue<number>('work', {
      onError: {
        retries: 0,
        backoff: { kind: 'fixed', ms: 0, jitter: 0 },
        ending: { end: 'bury', keepMs: 1_000 },
      },
    })
    const tell = queue<string>('tell')
    scene.skep.worker([
      work.handle(({ payload }) => {
        if (payload === 2) throw new Error('no')
      }),
      tell.handle(({ payload }) => void calls.push(payload)),
    ])

    await scene.skep.groups.batch(
      [1, 2, 3].map((n) => work.job(n)),
      {
        onSuccess: tell.job('success'),
        onComplete: tell.job('complete'),
        onDeath: tell.job('death'),
      },
    )
    await scene.until(() => calls.length === 2)

    expect(calls.toSorted()).toEqual(['complete', 'death'])
  })

  it('spawn children with the success of a job, and go on when they have ended', async () => {
    const scene = openScene()
    const parent = queue<number>('parent')
    let told: readonly Settled<number>[] = []
    scene.skep.worker([
      parent.handle(async ({ payload, spawn }) => {
        const children = Array.from({ length: payload }, (_, n) => square.job(n))
        await spawn(children, { join: settled, next: sum.job({ label: 'children' }) })
      }),
      square.handle(({ payload }) => payload * payload),
      sum.handle(async ({ results }) => {
        told = await results<number>()
        return told.length
      }),
    ])

    await scene.skep.enqueue(parent, 5)
    await scene.until(() => told.length > 0)

    expect(told.map((one) => (one.ok ? one.result : null))).toEqual([0, 1, 4, 9, 16])
  })

  it('map a queue over items, with options of all jobs or of each', async () => {
    const scene = openScene()
    scene.skep.worker([square.handle(({ payload }) => payload * payload)])

    const group = await scene.skep.groups.map(square, [3, 1, 2], {
      job: (item, index) => ({ priority: item, headers: { index: String(index) } }),
    })
    await scene.until(async () => (await group.get())?.endedAt != null)

    expect(await group.results()).toEqual([9, 1, 4].map((result) => ({ ok: true, result })))
    const { jobs } = await scene.skep.jobs.list({ queue: 'square' })
    const said = jobs.map(({ payload, priority, headers }) => [payload, priority, headers['index']].join())
    expect(said.toSorted()).toEqual(['1,1,1', '2,2,2', '3,3,0'])
  })

  it('map in chunks, so that there are fewer jobs than items', async () => {
    const scene = openScene()
    scene.skep.worker([chunks.handle(({ payload }) => payload.reduce((all, one) => all + one, 0))])

    const items = Array.from({ length: 25 }, (_, n) => n)
    const group = await scene.skep.groups.map(chunks, items, { chunk: 10 })
    await scene.until(async () => (await group.get())?.endedAt != null)

    expect(await group.results()).toEqual([45, 145, 110].map((result) => ({ ok: true, result })))
    expect(await codeOf(scene.skep.groups.map(chunks, items, { chunk: 0 }))).toBe('OPTION_INVALID')
  })

  it('map over lists of arguments', async () => {
    const scene = openScene()
    scene.skep.worker([
      pair.handle(({ payload: [x, y] }) => x ** y),
      area.handle(({ payload }) => payload.width * payload.height),
    ])

    const lists: [number, number][] = [
      [2, 5],
      [3, 2],
    ]
    const powers = await scene.skep.groups.starmap(pair, lists)
    const areas = await scene.skep.groups.starmap(area, lists, (width, height) => ({ width, height }), {
      keep: '1h',
    })
    for (const group of [powers, areas]) await scene.until(async () => (await group.get())?.endedAt != null)

    expect(await powers.results()).toEqual([32, 9].map((result) => ({ ok: true, result })))
    expect(await areas.results()).toEqual([10, 6].map((result) => ({ ok: true, result })))
  })

  it('are over at once without any items', async () => {
    const scene = openScene()
    const calls: string[] = []
    scene.skep.worker([after.handle(({ payload }) => void calls.push(payload))])

    await scene.skep.groups.map(square, [], { next: after.job('none') })
    await scene.until(() => calls.length === 1)

    expect(calls).toEqual(['none'])
  })

  it('refuse jobs with ids, and two jobs for the same moment', async () => {
    const scene = openScene()
    const [next, onComplete] = [after.job('next'), after.job('complete')]
    const withId = square.job(1, { id: scene.runtime.uuid() } as never)

    expect(await codeOf(scene.skep.groups.group([withId]))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.groups.group([square.job(1)], { join: settled, next, onComplete }))).toBe(
      'OPTION_INVALID',
    )
    expect(await scene.counts('square')).toEqual({})
  })
})

describe('a group that needs only some of its members', () => {
  const jobs = [1, 2, 3, 4].map((n) => wait.job(n))

  const onlyTheFirst = async ({ payload, signal }: JobContext<number, number>): Promise<number> => {
    if (payload > 1) await aborted(signal)
    return payload
  }

  it('cancels the others before what follows is called', async () => {
    const scene = openScene()
    let left: unknown = null
    scene.skep.worker([
      wait.handle(async ({ payload, signal }) => {
        if (payload < 3) return payload
        await aborted(signal)
        throw signal.reason
      }),
      after.handle(async ({ results }) => {
        left = await results<number>()
      }),
    ])

    await scene.skep.groups.group(jobs, { join: first(2), next: after.job('two') })
    await scene.until(async () => left !== null && (await scene.counts('wait')).cancelled === 2)

    // The others may have ended by then or not.
    const done = (left as unknown as { readonly ok: boolean }[]).filter(({ ok }) => ok)
    expect(done).toMatchObject([
      { ok: true, result: 1 },
      { ok: true, result: 2 },
    ])
    expect(await scene.counts('wait')).toEqual({ done: 2, cancelled: 2 })
  })

  it('cancels them when it has failed, if it shall fail fast', async () => {
    const scene = openScene()
    const calls: string[] = []
    await scene.skep.groups.group(jobs, { join: failFast, onFailure: after.job('failed') })
    const { jobs: waiting } = await scene.skep.jobs.list({ queue: 'wait' })
    await scene.skep.jobs.bury([waiting[1]?.id as string])
    await scene.until(async () => (await scene.counts('after')).ready === 1)

    scene.skep.worker([after.handle(({ payload }) => void calls.push(payload))])
    await scene.until(() => calls.length === 1)

    expect(await scene.counts('wait')).toEqual({ dead: 1, cancelled: 3 })
  })

  it('cancels them when it has become hopeless', async () => {
    const scene = openScene()
    await scene.skep.groups.group(jobs, {
      join: first(3),
      next: after.job('done'),
      onFailure: after.job('hopeless'),
    })
    const { jobs: waiting } = await scene.skep.jobs.list({ queue: 'wait' })
    await scene.skep.jobs.bury(waiting.slice(0, 2).map(({ id }) => id))
    const calls: string[] = []

    scene.skep.worker([after.handle(({ payload }) => void calls.push(payload))])
    await scene.until(() => calls.length === 1)

    expect(calls).toEqual(['hopeless'])
    expect(await scene.counts('wait')).toEqual({ dead: 2, cancelled: 2 })
  })

  it('does so also for jobs that a handler spawned, and in a handler of batches', async () => {
    const scene = openScene()
    const calls: string[] = []
    const parent = queue('parent')
    const options = { join: failFast, onFailure: after.job('failed') }
    scene.skep.worker([
      parent.handle(async ({ spawn }) => void (await spawn(jobs, options))),
      after.handleBatch({ size: 10 }, async (batch) => {
        for (const { payload } of batch) calls.push(`${payload}: ${(await scene.counts('wait')).cancelled}`)
      }),
    ])
    await scene.skep.enqueue(parent, null)
    await scene.until(async () => (await scene.counts('wait')).ready === 4)

    const { jobs: waiting } = await scene.skep.jobs.list({ queue: 'wait' })
    await scene.skep.jobs.bury([waiting[0]?.id as string])
    await scene.skep.enqueue(after, 'plain')
    await scene.until(() => calls.length === 2)

    expect(calls).toContain('failed: 3')
  })

  it('waits for a store that is away, at no cost to the job that follows', async () => {
    const scene = openScene()
    const calls: number[] = []
    const strict = queue<string>('strict', { onError: never() })
    await scene.skep.groups.group(jobs, { join: first(1), next: strict.job('one') })
    scene.client().worker([wait.handle(onlyTheFirst)], { concurrency: 1 })
    await scene.until(async () => (await scene.counts('strict')).ready === 1)

    scene.faults.next('change', 'before', 'after')
    scene.skep.worker([strict.handle(({ counters }) => void calls.push(counters.errors))])
    await scene.until(() => calls.length === 1)

    expect(calls).toEqual([0])
    expect((await scene.counts('wait')).ready).toBeUndefined()
  })

  it('cancels them again when the job that follows is tried again', async () => {
    const scene = openScene()
    let tries = 0
    const shaky = queue<string>('shaky', { onError: retry(3, fixed(0)) })
    await scene.skep.groups.group(jobs, { join: failFast, onFailure: shaky.job('failed') })
    const { jobs: waiting } = await scene.skep.jobs.list({ queue: 'wait' })
    await scene.skep.jobs.bury([waiting[0]?.id as string])
    scene.skep.worker([
      shaky.handle(async () => {
        // Somebody mends one of them in the meantime.
        if (++tries === 1) await scene.skep.jobs.retry([waiting[2]?.id as string])
        if (tries === 1) throw new Error('once more')
      }),
    ])

    await scene.until(() => tries === 2)

    expect(await scene.counts('wait')).toEqual({ dead: 1, cancelled: 3 })
  })

  it('is refused where nobody would cancel them', async () => {
    const scene = openScene()
    const [next, onFailure] = [after.job('next'), after.job('failure')]

    expect(await codeOf(scene.skep.groups.group(jobs, { join: first(2), onFailure }))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.groups.group(jobs, { join: failFast, next }))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.groups.group(jobs, { join: first(5), next }))).toBe('OPTION_INVALID')
    expect(() => first(0)).toThrow('first')
    expect(await scene.counts('wait')).toEqual({})
  })

  it('is not a batch: that tells of a death and goes on', async () => {
    const scene = openScene()
    const calls: string[] = []
    await scene.skep.groups.batch(jobs, { onDeath: after.job('death') })
    const { jobs: waiting } = await scene.skep.jobs.list({ queue: 'wait' })
    await scene.skep.jobs.bury([waiting[0]?.id as string])

    scene.skep.worker([after.handle(({ payload }) => void calls.push(payload))])
    await scene.until(() => calls.length === 1)

    expect(calls).toEqual(['death'])
    expect(await scene.counts('wait')).toEqual({ dead: 1, ready: 3 })
  })
})
