import * as v from 'valibot'
import { describe, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import {
  type Answer,
  createSkep,
  type FailedRun,
  type JobContext,
  type JobHandle,
  type Queue,
  queue,
  retry,
  schedule,
  snooze,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'

// Nothing here runs: the compiler is the test.
const skep = createSkep({ store: memoryStore() })
const compiled = (_body: () => unknown): void => {}

const byHand = queue<{ to: string }, { id: string }>('by-hand')
const untyped = queue('untyped')
const byZod = queue('by-zod', { payload: z.object({ month: z.string(), copies: z.number().default(1) }) })
const converting = queue('converting', {
  payload: z.object({ day: z.string().transform((text) => new Date(text)) }),
  result: z.object({ rows: z.number() }),
})
const byValibot = queue('by-valibot', {
  payload: v.object({ size: v.pipe(v.string(), v.transform(Number)) }),
  result: v.boolean(),
})

describe('a queue typed by hand', () => {
  it('takes its payload and nothing else', () => {
    compiled(() => skep.enqueue(byHand, { to: 'ada' }))
    // @ts-expect-error a number is no text
    compiled(() => skep.enqueue(byHand, { to: 1 }))
    // @ts-expect-error something is missing
    compiled(() => skep.enqueue(byHand, {}))
    // @ts-expect-error something is too much
    compiled(() => skep.enqueue(byHand, { to: 'ada', cc: 'bob' }))
    // @ts-expect-error one of them is wrong
    compiled(() => skep.enqueueMany(byHand, [{ to: 'ada' }, { to: 2 }]))
    // @ts-expect-error something is too much in one of them
    compiled(() => skep.enqueueMany(byHand, [{ to: 'ada' }, { to: 'bob', cc: 'eve' }]))
  })

  it('gives its handler the payload and takes the result', () => {
    byHand.handle((job) => {
      expectTypeOf(job).toEqualTypeOf<JobContext<{ to: string }, { id: string }>>()
      expectTypeOf(job.payload).toEqualTypeOf<{ to: string }>()
      expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(job.deadline).toEqualTypeOf<Date | null>()
      return { id: job.payload.to }
    })
    byHand.handle(async () => snooze('5m'))
    // @ts-expect-error the result is an object with an id
    byHand.handle(() => 'wrong')
    // @ts-expect-error also when it is a promise
    byHand.handle(async () => ({ id: 1 }))
    // @ts-expect-error forgetting to return is a mistake too
    byHand.handle(() => {})
    byHand.handle(async (job) => {
      await job.complete({ id: 'x' }, { tx: null })
      // @ts-expect-error the same result is meant
      await job.complete({ id: 1 }, { tx: null })
      return { id: 'x' }
    })
  })

  it('gives its result to whoever awaits it', () => {
    expectTypeOf(skep.enqueue(byHand, { to: 'ada' })).resolves.toEqualTypeOf<JobHandle<{ id: string }>>()
    expectTypeOf(skep.enqueueMany(byHand, [])).resolves.toEqualTypeOf<JobHandle<{ id: string }>[]>()
    expectTypeOf<JobHandle<{ id: string }>['result']>().returns.resolves.toEqualTypeOf<{ id: string }>()
    const id = '01a31c50-0000-7000-8000-000000000001'
    expectTypeOf(skep.jobs.handle<number>(id).result).returns.resolves.toEqualTypeOf<number>()
  })

  it('makes its unique key from its payload', () => {
    queue<{ to: string }>('keyed', { unique: ({ to }) => to })
    // @ts-expect-error there is no such field
    queue<{ to: string }>('keyed', { unique: ({ from }) => from })
  })

  it('without types takes anything', () => {
    compiled(() => skep.enqueue(untyped, { any: ['thing'] }))
    expectTypeOf(untyped).toEqualTypeOf<Queue<unknown, unknown, unknown>>()
  })
})

describe('a queue typed by a schema', () => {
  it('takes what the schema accepts: defaults may be left out', () => {
    compiled(() => skep.enqueue(byZod, { month: '2026-11' }))
    compiled(() => skep.enqueue(byZod, { month: '2026-11', copies: 2 }))
    // @ts-expect-error the month is missing
    compiled(() => skep.enqueue(byZod, { copies: 2 }))
    byZod.handle(({ payload }) => {
      expectTypeOf(payload).toEqualTypeOf<{ month: string; copies: number }>()
    })
  })

  it('that converts takes the one type and gives the handler the other', () => {
    compiled(() => skep.enqueue(converting, { day: '2026-11-15' }))
    // @ts-expect-error the handler gets a date, but a text is enqueued
    compiled(() => skep.enqueue(converting, { day: new Date() }))
    converting.handle(({ payload }) => {
      expectTypeOf(payload.day).toEqualTypeOf<Date>()
      return { rows: 1 }
    })
    // @ts-expect-error the result has a schema too
    converting.handle(() => ({ rows: 'many' }))
    expectTypeOf(skep.enqueue(converting, { day: '' })).resolves.toEqualTypeOf<JobHandle<{ rows: number }>>()
  })

  it('of another library works the same way', () => {
    compiled(() => skep.enqueue(byValibot, { size: '12' }))
    // @ts-expect-error the size is a text on the way in
    compiled(() => skep.enqueue(byValibot, { size: 12 }))
    byValibot.handle(({ payload }) => {
      expectTypeOf(payload).toEqualTypeOf<{ size: number }>()
      return true
    })
    byValibot.handleBatch({ size: 10 }, (jobs) => {
      expectTypeOf(jobs[0]?.payload).toEqualTypeOf<{ size: number } | undefined>()
      return jobs.map(() => (jobs.length > 1 ? true : new Error('alone')))
    })
    // @ts-expect-error each answer is a boolean, an instruction or an error
    byValibot.handleBatch({ size: 10 }, (jobs) => jobs.map(() => 'yes'))
  })
})

describe('the rest of the public types', () => {
  it('a handler enqueues through its context as typed as through the client', () => {
    byHand.handle(async (job) => {
      await job.enqueue(byZod, { month: '2026-11' })
      // @ts-expect-error the month is a text
      await job.enqueue(byZod, { month: 11 })
      // @ts-expect-error it is saved with the result, so it has no transaction of its own
      await job.enqueue(byZod, { month: '2026-11' }, { tx: {} })
      return { id: '' }
    })
  })

  it('events tell what they are about', () => {
    compiled(() =>
      skep.on('finished', (event) => {
        expectTypeOf(event.result).toEqualTypeOf<unknown>()
        expectTypeOf(event.durationMs).toEqualTypeOf<number>()
      }),
    )
    compiled(() => skep.on('dead', (event) => expectTypeOf(event).toEqualTypeOf<FailedRun>()))
    // @ts-expect-error there is no such event
    compiled(() => skep.on('exploded', () => {}))
  })

  it('durations have units the compiler knows', () => {
    compiled(() => skep.enqueue(byHand, { to: '' }, { delay: '5m' }))
    compiled(() => skep.enqueue(byHand, { to: '' }, { delay: 5_000 }))
    // @ts-expect-error there is no such unit
    compiled(() => skep.enqueue(byHand, { to: '' }, { delay: '5 minutes' }))
    // @ts-expect-error nor is a bare text a duration
    compiled(() => queue('x', { timeout: 'soon' }))
    compiled(() => queue('x', { timeout: 'none', onError: retry(3) }))
  })

  it('one worker serves queues of different types', () => {
    compiled(() =>
      skep.worker([
        byHand.handle(() => ({ id: 'x' })),
        byZod.handle(() => {}),
        byValibot.handleBatch({ size: 5 }, () => {}),
      ]),
    )
    expectTypeOf<Answer<number>>().extract<number>().toEqualTypeOf<number>()
  })
})

describe('prioritize', () => {
  it('wants the queue as it was declared, or the mode', () => {
    compiled(() => skep.jobs.prioritize(byHand, 1))
    compiled(() => skep.jobs.prioritize({ queue: byZod, text: 'x' }, 1))
    compiled(() => skep.jobs.prioritize('id', 1, { priorityMode: 'strict' }))
    compiled(() => skep.jobs.prioritize({ queue: 'by-hand' }, 1, { priorityMode: 'head-start' }))
    // @ts-expect-error an id does not tell the mode
    compiled(() => skep.jobs.prioritize('id', 1))
    // @ts-expect-error nor does a name
    compiled(() => skep.jobs.prioritize({ queue: 'by-hand' }, 1))
  })
})

describe('options that do not exist', () => {
  it('are mistakes for the compiler', () => {
    // @ts-expect-error misspelt
    compiled(() => skep.enqueue(untyped, 1, { dealy: '5m' }))
    // @ts-expect-error of another library
    compiled(() => skep.enqueue(untyped, 1, { attempts: 3 }))
    // @ts-expect-error misspelt
    compiled(() => skep.enqueue(untyped, 1, { unique: { key: 'a', hold: '5m' } }))
    // @ts-expect-error an item of a batch has no id for all
    compiled(() => skep.enqueueMany(untyped, [1], { id: 'x' }))
    // @ts-expect-error misspelt
    compiled(() => skep.worker([untyped.handle(() => 1)], { concurency: 5 }))
    // @ts-expect-error a queue is no handler
    compiled(() => skep.worker([untyped]))
    // @ts-expect-error a name is no queue
    compiled(() => skep.enqueue('untyped', 1))
    // @ts-expect-error of another library
    compiled(() => queue('other', { attempts: 3 }))
    // @ts-expect-error misspelt, beside a schema
    compiled(() => queue('other', { payload: z.string(), timeuot: '5s' }))
    // @ts-expect-error misspelt
    compiled(() => createSkep({ store: memoryStore(), spaces: 'shop' }))
    // @ts-expect-error misspelt
    compiled(() => skep.groups.group([untyped.job(1)], { onFailed: untyped.job(2) }))
    // @ts-expect-error the id of a member cannot be chosen
    compiled(() => untyped.job(1, { id: 'x' }))
    // @ts-expect-error misspelt
    compiled(() => schedule('nightly', { queue: untyped, cron: '0 3 * * *', timezone: 'UTC' }))
    // @ts-expect-error a backoff is made by fixed() or exponential()
    compiled(() => retry(3, '1s'))
    // @ts-expect-error a transaction of the user's does not go with a handler's own
    compiled(() => untyped.handle(async ({ enqueue }) => enqueue(untyped, 1, { tx: {} })))
  })
})
