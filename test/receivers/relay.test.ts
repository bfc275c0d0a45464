import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createSkep,
  first,
  localNotifier,
  queue,
  type Relay,
  type RelayedJob,
  type RelayLine,
  type Skep,
  type SkepOptions,
  type Store,
  StoreError,
  silentLogger,
  systemRuntime,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { LocalNotices, withNotices } from '../../src/testing/local-notices.ts'

const mail = queue<{ n: number }, number>('mail')
const patience = { timeout: 20_000, interval: 10 }

describe('a relay', { timeout: 60_000 }, () => {
  const closers: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })

  const words: string[] = []
  function begin(options: Partial<SkepOptions> = {}): { skep: Skep; relay: Relay } {
    words.length = 0
    const skep = createSkep({ store: memoryStore(), logger: silentLogger, ...options })
    closers.push(() => skep.close())
    const relay = skep.workers.relay({
      drain: 0,
      grace: 0,
      slots: () => 10,
      onStop: () => {},
      onOver: () => {},
      onWord: (_job, word) => void words.push(word),
    })
    return { skep, relay }
  }

  function lineOf(name: string, most = 10): RelayLine<unknown> & { readonly jobs: RelayedJob[] } {
    const jobs: RelayedJob[] = []
    return {
      queue: name,
      jobs,
      concurrency: () => most,
      room: () => most - jobs.length,
      hasRoom: () => jobs.length < most,
      take: (job) => void jobs.push(job),
    }
  }

  const done = (relay: Relay, jobs: RelayedJob[], value: unknown): void =>
    relay.end(jobs.splice(0).map((job) => ({ job, end: { kind: 'done', value } })))

  it('hands back a job whose outcome waits for a held key at a stop, and reports that it was not saved', async () => {
    const store = memoryStore()
    const { skep, relay } = begin({
      store: {
        ...store,
        capabilities: { ...store.capabilities, waitsForKeys: true },
        async settle(call) {
          if (call.settlements.some(({ enqueue }) => enqueue !== undefined))
            throw new StoreError('STORE_BUSY', 'Held.')
          return store.settle(call)
        },
      },
    })
    await relay.ready
    const line = lineOf('mail')
    await relay.open(line)
    await skep.groups.chain([mail.job({ n: 1 }), mail.job({ n: 2 }, { unique: 'k' })])
    await vi.waitFor(() => expect(line.jobs).toHaveLength(1), patience)
    const { id } = line.jobs[0] as RelayedJob
    done(relay, line.jobs, 1)
    await relay.stop()

    expect(words).toEqual(['lost'])
    expect(await skep.jobs.get(id)).toMatchObject({ state: 'ready', lost: 0 })
  })

  it.each(['hints', 'notices'])('serves queues that come and go, with %s', async (how) => {
    const runtime = systemRuntime()
    const all = new LocalNotices(runtime)
    const local = localNotifier({ runtime })
    const notifier = how === 'notices' ? withNotices(local, all, all.view(runtime)) : local
    closers.push(() => local.close())
    const { skep, relay } = begin({ notifier })
    await relay.ready
    const line = lineOf('mail')
    await relay.open(line)
    await skep.enqueueMany(mail, [{ n: 1 }, { n: 2 }])
    await vi.waitFor(() => expect(line.jobs).toHaveLength(2), patience)
    relay.close(line)
    await skep.enqueue(mail, { n: 3 })
    const other = lineOf('other')
    await relay.open(other)
    await skep.enqueue(queue<number>('other'), 1)
    await vi.waitFor(() => expect(other.jobs).toHaveLength(1), patience)
    expect(line.jobs).toHaveLength(2)
    // What is out when its queue is closed ends as before.
    done(relay, line.jobs, 1)
    await vi.waitFor(() => expect(words).toEqual(['ok', 'ok']), patience)
    const again = lineOf('mail')
    await relay.open(again)
    await vi.waitFor(() => expect(again.jobs).toHaveLength(1), patience)
    expect(again.jobs[0]?.payload).toBe('{"n":3}')
  })

  it('hands back, without a count, what it claimed for a queue that was closed meanwhile', async () => {
    const inner = memoryStore()
    let release: (() => void) | null = null
    let isSlow = false
    const store: Store = {
      ...inner,
      claim: async (call) => {
        const reply = await inner.claim(call)
        if (isSlow && reply.jobs.length > 0) await new Promise<void>((resolve) => (release = resolve))
        return reply
      },
    }
    const { skep, relay } = begin({ store })
    await relay.ready
    const line = lineOf('mail')
    await relay.open(line)
    isSlow = true
    const job = await skep.enqueue(mail, { n: 1 })
    await vi.waitFor(() => expect(release).not.toBeNull(), patience)
    relay.close(line)
    isSlow = false
    ;(release as (() => void) | null)?.()
    await vi.waitFor(async () => expect((await skep.jobs.get(job.id))?.state).toBe('ready'), patience)
    expect(await skep.jobs.get(job.id)).toMatchObject({ starts: 0, lost: 0 })
    expect(line.jobs).toEqual([])
  })

  it('goes on with a chain, and cancels what a group has left', async () => {
    const { skep, relay } = begin()
    const line = lineOf('mail')
    const next = lineOf('next')
    const after = queue<string>('next')
    await Promise.all([relay.open(line), relay.open(next)])
    await skep.groups.chain([mail.job({ n: 1 }), after.job('after one')])
    await vi.waitFor(() => expect(line.jobs).toHaveLength(1), patience)
    done(relay, line.jobs, 7)
    await vi.waitFor(() => expect(next.jobs.map(({ payload }) => payload)).toEqual(['"after one"']), patience)
    done(relay, next.jobs, null)

    const members = [mail.job({ n: 1 }), mail.job({ n: 2 }), mail.job({ n: 3 })]
    await skep.groups.group(members, { join: first(1), next: after.job('one is enough') })
    await vi.waitFor(() => expect(line.jobs).toHaveLength(3), patience)
    const [quick, ...slow] = line.jobs.splice(0) as [RelayedJob, ...RelayedJob[]]
    done(relay, [quick], 1)
    await vi.waitFor(() => expect(next.jobs).toHaveLength(1), patience)
    relay.end(slow.map((job) => ({ job, end: { kind: 'failed', message: 'stopped' } })))
    await vi.waitFor(
      async () => expect((await skep.jobs.get(slow[0]?.id as string))?.state).toBe('cancelled'),
      patience,
    )
  })

  it('takes a result that cannot be stored for an error', async () => {
    const { skep, relay } = begin()
    const line = lineOf('mail')
    await relay.open(line)
    const jobs = await skep.enqueueMany(mail, [{ n: 1 }, { n: 2 }])
    await vi.waitFor(() => expect(line.jobs).toHaveLength(2), patience)
    const [text, value] = line.jobs as [RelayedJob, RelayedJob]
    relay.end([
      { job: text, end: { kind: 'done', text: '{"broken":' } },
      { job: value, end: { kind: 'done', value: 'a\0b' } },
    ])
    await vi.waitFor(() => expect(words).toEqual(['ok', 'ok']), patience)
    const views = await Promise.all(jobs.map(({ id }) => skep.jobs.get(id)))
    expect(views.map((view) => view?.state)).toEqual(['delayed', 'delayed'])
    expect(views.map((view) => view?.errors)).toEqual([1, 1])
  })
})
