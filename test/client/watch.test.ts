import { describe, expect, it } from 'vitest'
import { discard, fixed, type JobContext, type JobEvent, queue, retry } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<number, number>('mail')
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Reads a watch to its end, in the background. */
function follow(events: AsyncIterable<JobEvent>): { readonly seen: string[]; readonly over: Promise<void> } {
  const seen: string[] = []
  const read = async (): Promise<void> => {
    for await (const event of events) seen.push(wordOf(event))
  }
  const over = read()
  over.catch(() => {})
  return { seen, over }
}

function wordOf(event: JobEvent): string {
  if (event.kind === 'state') return event.state
  return event.kind === 'log' ? event.message : `${event.value} ${event.note ?? ''}`.trim()
}

/** A worker whose one handler is in the hands of the test. */
async function running(
  scene: Scene,
): Promise<{ job: JobContext<number, number>; end: (value: number) => void }> {
  const end = gate<number>()
  let job: JobContext<number, number> | undefined
  scene.skep.worker([
    mail.handle((context) => {
      job = context
      return end.promise
    }),
  ])
  await scene.skep.enqueue(mail, 1)
  await scene.until(() => job !== undefined)
  return { job: job as unknown as JobContext<number, number>, end: end.open }
}

describe('watching a job', () => {
  it('shows what there is and what comes, and ends with the job', async () => {
    const scene = openScene()
    const { job, end } = await running(scene)
    job.log('a')
    job.progress(1, 'first')
    await scene.advance(300)

    const { seen, over } = follow(scene.skep.jobs.watch(job.id))
    await scene.until(() => seen.length === 3)
    job.log('b')
    job.progress(2)
    await scene.until(() => seen.length === 5)
    job.log('c')
    end(1)
    await scene.through(over)

    expect(seen).toEqual(['running', 'a', '1 first', 'b', '2', 'c', 'done'])
  })

  it('hears of notes by hints, soon, and the hints end when nobody watches', async () => {
    const scene = openScene()
    const { job } = await running(scene)
    const noted = (): number => scene.notifier.published.filter(({ kind }) => kind === 'noted').length
    job.log('unwatched')
    await scene.advance(500)
    const before = noted()

    const stop = new AbortController()
    const { seen } = follow(scene.skep.jobs.watch(job.id, { signal: stop.signal }))
    await scene.advance(300)
    job.log('watched')
    // Much less than it would take without a hint.
    await scene.advance(400)
    const during = noted()
    stop.abort()
    await scene.advance(30_000)
    job.log('unwatched again')
    await scene.advance(500)

    expect(before).toBe(0)
    expect(seen).toEqual(['running', 'unwatched', 'watched'])
    expect(during).toBe(1)
    expect(noted()).toBe(during)
  })

  it('finds by itself what no hint told', async () => {
    const scene = openScene()
    const { job, end } = await running(scene)
    const { seen, over } = follow(scene.skep.jobs.watch(job.id))
    await scene.until(() => seen.length === 1)
    scene.notifier.blackHole = true

    job.log('quiet')
    await scene.advance(3_000)
    expect(seen).toEqual(['running', 'quiet'])
    end(1)
    await scene.advance(3_000)

    await over
    expect(seen).toEqual(['running', 'quiet', 'done'])
  })

  it('of another process sees the same', async () => {
    const scene = openScene()
    const { job, end } = await running(scene)
    const other = scene.client()
    const { seen, over } = follow(other.jobs.handle(job.id).watch())
    await scene.advance(300)

    job.log('hello')
    await scene.advance(400)
    expect(seen).toEqual(['running', 'hello'])
    end(1)
    await scene.through(over)

    expect(seen.at(-1)).toBe('done')
  })

  it('sees the tries of a job, and all lines before its end', async () => {
    const scene = openScene()
    const tried = queue<number, number>('tried', { onError: retry(1, fixed('10s')) })
    const job = await scene.skep.enqueue(tried, 1)
    const { seen, over } = follow(job.watch())
    await scene.advance(500)
    scene.skep.worker([
      tried.handle(({ log, attempt }) => {
        for (let n = 1; n <= 300; n++) log(`${attempt}.${n}`)
        if (attempt === 1) throw new Error('again')
        return 1
      }),
    ])

    await scene.through(over)

    const lines = seen.filter((word) => word.includes('.'))
    expect(lines).toHaveLength(600)
    expect(new Set(lines).size).toBe(600)
    // The run that failed left a line of its own.
    expect(seen.filter((word) => !word.includes('.')).toSorted()).toEqual([
      'again',
      'delayed',
      'done',
      'ready',
    ])
    expect(seen.at(-1)).toBe('done')
  })

  it('of a job that has ended shows all of it at once', async () => {
    const scene = openScene()
    scene.skep.worker([
      mail.handle(({ log, payload }) => {
        log('done it')
        return payload
      }),
    ])
    const job = await scene.skep.enqueue(mail, 1)
    await scene.through(job.result())

    const { seen, over } = follow(job.watch())
    await scene.through(over)

    expect(seen).toEqual(['done it', 'done'])
    expect(scene.notifier.published.some(({ kind }) => kind === 'watch')).toBe(false)
  })

  it('begins after the place it is given', async () => {
    const scene = openScene()
    const { job, end } = await running(scene)
    for (const text of ['a', 'b', 'c']) job.log(text)
    await scene.advance(300)
    const { cursor } = await scene.skep.jobs.logs(job.id, { limit: 2 })

    const { seen, over } = follow(scene.skep.jobs.watch(job.id, { after: cursor }))
    end(1)
    await scene.through(over)

    expect(seen).toEqual(['running', 'c', 'done'])
  })

  it('of no job fails, and of one that is discarded just ends', async () => {
    const scene = openScene()
    const brief = queue<number>('brief', { onSuccess: discard() })
    const job = await scene.skep.enqueue(brief, 1)
    const { seen, over } = follow(job.watch())
    await scene.until(() => seen.length === 1)
    scene.skep.worker([brief.handle(() => {})])

    await scene.through(over)

    expect(seen[0]).toBe('ready')
    expect(await scene.through(codeOf(follow(scene.skep.jobs.watch(UNKNOWN)).over))).toBe('JOB_NOT_FOUND')
    expect(() => scene.skep.jobs.watch('x')).toThrow(/id/)
  })

  it('ends with the reason of its signal, by a break, and with the Skep, and leaves nothing behind', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const stop = new AbortController()
    const aborted = follow(job.watch({ signal: stop.signal }))
    const closed = follow(job.watch())
    const broken = (async () => {
      for await (const _event of job.watch()) break
    })()
    await scene.until(() => aborted.seen.length === 1 && closed.seen.length === 1)
    await scene.through(broken)

    stop.abort(new Error('enough'))
    await expect(scene.through(aborted.over)).rejects.toThrow('enough')
    await scene.through(scene.skep.close())

    expect(await scene.through(codeOf(closed.over))).toBe('CLOSED')
    expect(scene.notifier.subscribers).toBe(0)
    expect(scene.runtime.timers).toBe(0)
  })

  it('waits on while the store does not answer', async () => {
    const scene = openScene()
    const { job, end } = await running(scene)
    const { seen, over } = follow(scene.skep.jobs.watch(job.id))
    await scene.until(() => seen.length === 1)
    scene.faults.break('before', ['get', 'notes'])
    job.log('hidden')
    await scene.advance(5_000)
    // The end is seen before the notes can be read: it has to wait for them.
    scene.faults.heal()
    scene.faults.break('before', ['notes'])
    end(1)
    await scene.advance(5_000)
    const meanwhile = [...seen]

    scene.faults.heal()
    await scene.through(over)

    expect(meanwhile).toEqual(['running'])
    expect(seen).toEqual(['running', 'hidden', 'done'])
  })

  it('looks a few times a second at most, however many hints come', async () => {
    const scene = openScene()
    const { job } = await running(scene)
    const stop = new AbortController()
    const { seen } = follow(scene.skep.jobs.watch(job.id, { signal: stop.signal }))
    await scene.until(() => seen.length === 1)
    const before = scene.faults.count('notes')

    for (let ms = 0; ms < 2_000; ms += 2) {
      scene.notifier.publish([{ kind: 'noted', space: 'default', queue: 'mail' }])
      await scene.advance(2)
    }
    const looks = scene.faults.count('notes') - before
    stop.abort()

    expect(looks).toBeGreaterThan(5)
    expect(looks).toBeLessThanOrEqual(20)
  })
})

describe('logs', () => {
  it('come in pages, and refuse what is no page', async () => {
    const scene = openScene()
    const { job } = await running(scene)
    for (let n = 1; n <= 5; n++) job.log(`${n}`)
    await scene.advance(300)

    const first = await scene.skep.jobs.logs(job.id, { limit: 3 })
    const second = await scene.skep.jobs.logs(job.id, { limit: 3, after: first.cursor })
    const third = await scene.skep.jobs.logs(job.id, { after: second.cursor })

    expect(first).toMatchObject({ more: true, cursor: 3 })
    expect(second.lines.map(({ message }) => message)).toEqual(['4', '5'])
    expect(second).toMatchObject({ more: false, cursor: 5 })
    expect(third).toMatchObject({ lines: [], cursor: 5, more: false })
    expect(await codeOf(scene.skep.jobs.logs(job.id, { limit: 0 }))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.jobs.logs(job.id, { after: -1 }))).toBe('OPTION_INVALID')
  })

  it('of a job without any are empty, and progress is shown for one job alone', async () => {
    const scene = openScene()
    const { job } = await running(scene)
    const waiting = await scene.skep.enqueue(mail, 2, { delay: '1h' })
    job.progress(5)
    await scene.advance(300)

    expect(await waiting.logs()).toEqual({ progress: null, lines: [], cursor: 0, more: false, dropped: 0 })
    expect((await waiting.get())?.progress).toBeNull()
    expect((await scene.skep.jobs.get(job.id))?.progress).toMatchObject({ value: 5 })
    expect((await scene.skep.jobs.list({ queue: 'mail' })).jobs.some((view) => 'progress' in view)).toBe(
      false,
    )
  })
})
