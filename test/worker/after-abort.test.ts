// The table of docs/workers.md, "What is saved after the signal aborted".

import { describe, expect, it } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { bury, cancel, fixed, type JobContext, queue, rateLimited, retry, snooze } from '../../src/index.ts'
import { aborted, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, unknown>('mail', {
  timeout: '5m',
  onError: retry(5, fixed('1h')),
  onTimeout: retry(5, fixed('1h')),
  onLost: retry(5, fixed('1h')),
})
const child = queue<number>('child')

type Cause = 'stop' | 'timeout' | 'cancel' | 'lost in time' | 'lost to another'
type End = 'value' | 'error' | 'snooze' | 'rateLimited' | 'cancel' | 'bury' | 'nothing'

const ENDS: Readonly<Record<Exclude<End, 'nothing'>, (job: JobContext<number, unknown>) => unknown>> = {
  value: async (job) => {
    await job.enqueue(child, 1)
    return 'late'
  },
  error: () => {
    throw new Error('Aborted.')
  },
  snooze: () => snooze('1h'),
  rateLimited: () => rateLimited('1h'),
  cancel: () => cancel('enough'),
  bury: () => bury('broken'),
}

/** What makes the signal abort. */
const CAUSES: Readonly<
  Record<Cause, (scene: Scene, id: string, stop: () => Promise<void>) => Promise<void>>
> = {
  stop: async (_scene, _id, stop) => void stop(),
  timeout: (scene) => scene.advance(300_000),
  cancel: async (scene, id) => void (await scene.skep.jobs.cancel([id])),
  'lost in time': async (scene) => {
    scene.faults.break('before', ['extend'])
    await scene.advance(30_000)
    scene.faults.heal()
  },
  'lost to another': async (scene, id) => {
    const { token } = await scene.job(id)
    const verdict = {
      to: 'delayed',
      keepMs: null,
      delayMs: 36_000_000,
      count: 'lost',
      refund: false,
      keepPlace: false,
      keepCancelledMs: 0,
      result: null,
      failure: null,
    } as const
    await scene.truth.settle({
      settlements: [{ space: 'default', id, token: token as string, rescue: true, verdict }],
    })
    await scene.advance(11_000)
  },
}

const BACK = { state: 'ready', errors: 0, timeouts: 0, lost: 0 }
const TIMEOUT = { state: 'delayed', errors: 0, timeouts: 1, snoozes: 0, result: null }
const LOST = { state: 'delayed', errors: 0, lost: 1, snoozes: 0, result: null }
const CANCELLED = { state: 'cancelled', errors: 0 }
const DONE = { state: 'done', result: '"late"' }

const every = (expected: Partial<Job>): Record<End, Partial<Job>> => ({
  value: expected,
  error: expected,
  snooze: expected,
  rateLimited: expected,
  cancel: expected,
  bury: expected,
  nothing: expected,
})

const TABLE: Readonly<Record<Cause, Readonly<Record<End, Partial<Job>>>>> = {
  stop: {
    value: DONE,
    error: BACK,
    snooze: { state: 'delayed', snoozes: 1 },
    rateLimited: { state: 'ready', starts: 0 },
    cancel: { state: 'cancelled' },
    bury: { state: 'dead' },
    nothing: BACK,
  },
  timeout: every(TIMEOUT as Partial<Job>),
  cancel: { ...every(CANCELLED as Partial<Job>), value: DONE as Partial<Job>, bury: { state: 'dead' } },
  'lost in time': every(LOST as Partial<Job>),
  'lost to another': every(LOST as Partial<Job>),
} as Readonly<Record<Cause, Readonly<Record<End, Partial<Job>>>>>

const CASES = (Object.keys(TABLE) as Cause[]).flatMap((cause) =>
  (Object.keys(TABLE[cause]) as End[]).map((end) => [cause, end] as const),
)

/** Whether what a handler logged and reported after its signal aborted is in the store. */
const KEEPS_NOTES: Readonly<Record<Cause, boolean>> = {
  stop: true,
  timeout: true,
  cancel: true,
  'lost in time': true,
  'lost to another': false,
}

describe('after its signal aborted', () => {
  it.each(CASES)('by %s, a handler that ends with %s', async (cause, end) => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let isAborted = false
    const worker = scene.skep.worker(
      [
        mail.handle(async (context) => {
          context.log('before')
          context.progress(10)
          await aborted(context.signal)
          isAborted = true
          context.log('after')
          context.progress(20)
          if (end === 'nothing') {
            await new Promise<void>((resolve) => void scene.runtime.timer(10_000, resolve))
            context.log('much later')
            return 'much later'
          }
          return await ENDS[end](context)
        }),
      ],
      { grace: '4s' },
    )
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    await scene.advance(1_000)

    await CAUSES[cause](scene, job.id, () => worker.stop({ drain: 0 }))
    await scene.until(() => isAborted)
    await scene.advance(15_000)

    expect(await scene.job(job.id)).toMatchObject(TABLE[cause][end])
    expect(await scene.counts('child')).toEqual(
      end === 'value' && TABLE[cause].value.state === 'done' ? { ready: 1 } : {},
    )
    const page = await scene.truth.notes({ space: 'default', id: job.id, after: 0, limit: 100 })
    const own = page.lines.map(({ text }) => text).filter((text) => /before|after|later/.test(text))
    expect(own).toEqual(KEEPS_NOTES[cause] ? ['before', 'after'] : ['before'])
    expect(page.progress?.value).toBe(KEEPS_NOTES[cause] ? 20 : 10)
  })
})
