import { describe, expect, it } from 'vitest'
import { fixed, queue, rateLimited, retry, sharedLimit } from '../../src/index.ts'
import { openScene, type Scene } from './support/scene.ts'

interface Mail {
  readonly to: string
  readonly n: number
}

const many = (to: string, count: number): Mail[] => Array.from({ length: count }, (_, n) => ({ to, n }))

const pause = (scene: Scene, ms: number): Promise<void> =>
  new Promise((resolve) => void scene.runtime.timer(ms, resolve))

/** How many run at once, by key, and the most there ever were. */
class Gauge {
  readonly most = new Map<string, number>()
  readonly #now = new Map<string, number>()

  async during(key: string, work: Promise<void>): Promise<void> {
    const now = (this.#now.get(key) ?? 0) + 1
    this.#now.set(key, now)
    this.most.set(key, Math.max(now, this.most.get(key) ?? 0))
    await work
    this.#now.set(key, (this.#now.get(key) ?? 0) - 1)
  }
}

describe('lanes', () => {
  it('let the one job of a tenant start next beside thousands of another', async () => {
    const scene = openScene()
    const order: string[] = []
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to })
    await scene.skep.enqueueMany(mail, many('whale', 3_000))
    const handler = mail.handle(async ({ payload, lane }) => {
      order.push(lane ?? '-')
      expect(lane).toBe(payload.to)
      await pause(scene, 50)
    })

    scene.skep.worker([handler], { concurrency: 4 })
    await scene.until(() => order.length >= 100)
    const before = order.length
    await scene.skep.enqueue(mail, { to: 'minnow', n: 1 })
    await scene.until(() => order.includes('minnow'))

    // What was claimed ahead may still start; nothing else does.
    expect(order.indexOf('minnow') - before).toBeLessThanOrEqual(16)
  })

  it('let a worker ask for the job of another lane while it holds enough', async () => {
    const scene = openScene()
    const order: string[] = []
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to })
    await scene.skep.enqueueMany(mail, many('whale', 3_000))
    const handler = mail.handle(async ({ payload }) => {
      order.push(payload.to)
      await pause(scene, 2)
    })
    const worker = scene.skep.worker([handler], { concurrency: 10 })
    await scene.until(() => order.length >= 500 && worker.health().buffered > 60)

    const before = order.length
    await scene.skep.enqueue(mail, { to: 'minnow', n: 1 })
    await scene.until(() => order.includes('minnow'))

    expect(order.indexOf('minnow') - before).toBeLessThanOrEqual(30)
  })

  it('let a worker ask for the job of another lane while a call is under way', async () => {
    const scene = openScene()
    const order: string[] = []
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to })
    await scene.skep.enqueueMany(mail, many('whale', 3_000))
    const handler = mail.handle(async ({ payload }) => {
      order.push(payload.to)
      await pause(scene, 10)
    })
    scene.skep.worker([handler], { concurrency: 10 })
    await scene.until(() => order.length >= 200)
    const asked = scene.faults.count('settle')
    scene.faults.next('settle', 'hang')
    await scene.until(() => scene.faults.count('settle') > asked)

    await scene.skep.enqueue(mail, { to: 'minnow', n: 1 })
    // Long before that call is given up.
    await scene.until(() => order.includes('minnow'), 5_000)

    scene.faults.heal()
    await scene.until(() => order.length === 3_001)
  })

  it('let a worker take much at a time of a deep one, and ask for a few only when somebody comes', async () => {
    const scene = openScene()
    const order: string[] = []
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to })
    await scene.skep.enqueueMany(mail, many('whale', 10_000))
    const handler = mail.handle(async ({ payload }) => {
      order.push(payload.to)
      await pause(scene, 10)
    })
    scene.faults.break({ slowMs: 4 }, ['claim', 'settle'])
    scene.skep.worker([handler], { concurrency: 100 })
    await scene.until(() => order.length >= 1_000)
    const wished = (): number[] => [
      ...scene.faults.arguments('claim').map(({ limit }) => limit),
      ...scene.faults.arguments('settle').flatMap(({ claim }) => claim?.limit ?? []),
    ]
    const few = (): number => wished().filter((limit) => limit <= 8).length

    const before = few()
    await scene.until(() => order.length >= 4_000)
    expect(few()).toBe(before)
    // What takes the store long would hold up whoever comes.
    expect(Math.max(...wished())).toBeLessThanOrEqual(110)

    await scene.skep.enqueue(mail, { to: 'minnow', n: 1 })
    await scene.until(() => order.includes('minnow'))
    expect(few()).toBe(before + 1)
  })

  it.each([1, 2, 3])('keep every limit across three workers (seed %i)', async (seed) => {
    const scene = openScene({ seed })
    const gauge = new Gauge()
    const api = sharedLimit('api', { concurrency: 7 })
    const mail = queue<Mail>('mail', {
      lane: ({ payload }) => payload.to,
      lanes: { concurrency: 2 },
      concurrency: 5,
      limit: api,
    })
    const push = queue<Mail>('push', { limit: api })
    for (const to of ['a', 'b', 'c']) await scene.skep.enqueueMany(mail, many(to, 40))
    await scene.skep.enqueueMany(push, many('x', 60))
    const run = (name: string, keys: readonly string[]): Promise<unknown> => {
      const work = pause(scene, Math.floor(scene.runtime.random() * 40))
      return Promise.all([`queue ${name}`, 'api', ...keys].map((key) => gauge.during(key, work)))
    }

    for (const skep of [scene.skep, scene.client(), scene.client()]) {
      skep.worker([
        mail.handle(async ({ payload }) => void (await run('mail', [`lane ${payload.to}`]))),
        push.handle(async () => void (await run('push', []))),
      ])
    }
    await scene.until(async () => (await scene.counts('mail')).done === 120)
    await scene.until(async () => (await scene.counts('push')).done === 60)

    const most = Object.fromEntries(gauge.most)
    expect(most['queue mail']).toBeLessThanOrEqual(5)
    expect(most['api']).toBeLessThanOrEqual(7)
    for (const to of ['a', 'b', 'c']) expect(most[`lane ${to}`]).toBeLessThanOrEqual(2)
    expect(most['api']).toBeGreaterThanOrEqual(6)
  })

  it('start jobs at their rate, by timers alone', async () => {
    const scene = openScene()
    const starts: number[] = []
    const mail = queue<number>('mail', { rate: { limit: 10, per: '1s' } })
    await scene.skep.enqueueMany(
      mail,
      Array.from({ length: 50 }, (_, n) => n),
    )
    scene.skep.worker([mail.handle(() => void starts.push(scene.runtime.now()))], { poll: '1h' })
    await scene.until(() => starts.length === 50)

    const span = (starts.at(-1) as number) - (starts[0] as number)
    expect(span).toBeGreaterThanOrEqual(4_800)
    expect(span).toBeLessThanOrEqual(5_000)
    for (const at of starts) {
      expect(starts.filter((other) => other >= at && other < at + 1_000).length).toBeLessThanOrEqual(11)
    }
  })

  it('are asked for as many as their rate gives, not for all that could run', async () => {
    const scene = openScene()
    let ran = 0
    const mail = queue<Mail>('mail', { rate: { limit: 200, per: '1s' } })
    await scene.skep.enqueueMany(mail, many('all', 2_000))
    const handler = mail.handle(() => void ran++)

    scene.skep.worker([handler], { concurrency: 1_000 })
    await scene.until(() => ran >= 200)
    const before = scene.faults.calls.length
    await scene.until(() => ran >= 400)

    const later = scene.faults.calls.slice(before).flatMap(({ operation, argument }) => {
      const call = argument as { limit?: number; claim?: { limit: number } }
      return operation === 'claim' ? (call.limit ?? 0) : (call.claim?.limit ?? [])
    })
    expect(Math.max(...later)).toBe(64)
  })

  it('wait when their handler is told to, and only they', async () => {
    const scene = openScene()
    const done: string[] = []
    let refusals = 0
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to })
    const start = scene.runtime.now()
    await scene.skep.enqueueMany(mail, [...many('slow', 3), ...many('fast', 3)])
    const handler = mail.handle(({ payload }) => {
      if (payload.to === 'slow' && scene.runtime.now() < start + 30_000) {
        refusals++
        return rateLimited('30s', 'Too many requests.')
      }
      done.push(payload.to)
      return undefined
    })

    scene.skep.worker([handler], { concurrency: 1 })
    await scene.until(() => done.length === 3)
    expect(done).toEqual(['fast', 'fast', 'fast'])
    await scene.until(() => done.length === 6)

    expect(scene.runtime.now() - start).toBeLessThan(31_000)
    expect(refusals).toBe(1)
    const [job] = (await scene.skep.jobs.list({ queue: 'mail', state: 'done', limit: 10 })).jobs.filter(
      ({ lane }) => lane === 'slow',
    )
    expect([job?.errors, job?.snoozes, job?.starts]).toEqual([0, 0, 1])
  })

  it('wait until a moment that their handler names', async () => {
    const scene = openScene()
    const runs: number[] = []
    const until = new Date(scene.runtime.now() + 45_000)
    const mail = queue<number>('mail')
    await scene.skep.enqueue(mail, 1)
    scene.skep.worker([
      mail.handle(() => {
        runs.push(scene.runtime.now())
        return runs.length === 1 ? rateLimited(until) : undefined
      }),
    ])
    await scene.until(() => runs.length === 2)

    expect(runs[1]).toBeGreaterThanOrEqual(until.getTime())
    expect(runs[1]).toBeLessThan(until.getTime() + 50)
  })

  it('go on at the end of a run, after a claim that found no room', async () => {
    const scene = openScene()
    const ran: number[] = []
    const mail = queue<Mail>('mail', { concurrency: 1 })
    const handler = mail.handle(async ({ payload }) => {
      ran.push(payload.n)
      await pause(scene, 1_000)
    })
    await scene.skep.worker([handler], { poll: '1h' }).ready
    await scene.skep.enqueue(mail, { to: 'a', n: 1 })
    await scene.until(() => ran.length === 1)
    await scene.skep.enqueue(mail, { to: 'a', n: 2 })
    await scene.advance(500)
    expect(ran).toEqual([1])
    await scene.until(() => ran.length === 2, 10_000)

    expect(ran).toEqual([1, 2])
  })

  it('go on when a worker with no slot for the next job makes room', async () => {
    const scene = openScene()
    const ran: string[] = []
    const mail = queue<Mail>('mail', { lane: ({ payload }) => payload.to, lanes: { concurrency: 1 } })
    const other = queue<number>('other')
    const handlers = [
      mail.handle(async ({ payload }) => {
        ran.push(`${payload.to}${payload.n}`)
        await pause(scene, 100)
      }),
    ]
    // The first worker is taken up by other work as soon as it has run its mail.
    const first = scene.skep.worker([...handlers, other.handle(() => pause(scene, 600_000))], {
      concurrency: 1,
      poll: '1h',
    })
    await first.ready
    await scene.skep.enqueueMany(mail, many('a', 2))
    await scene.until(() => ran.length === 1)
    await scene.skep.enqueueMany(other, [1, 2, 3])
    const second = scene.client().worker(handlers, { poll: '1h' })
    await second.ready
    await scene.until(() => ran.length === 2, 10_000)

    expect(ran).toEqual(['a0', 'a1'])
  })
})

describe('a strict lane', () => {
  it.each([1, 2, 3, 4])(
    'keeps its order through errors, timeouts and lost workers (seed %i)',
    async (seed) => {
      const scene = openScene({ seed })
      const started = new Map<string, number[]>()
      const ended = new Map<string, number[]>()
      const note = (map: Map<string, number[]>, { to, n }: Mail): void => {
        map.set(to, [...(map.get(to) ?? []), n])
      }
      const mail = queue<Mail>('mail', {
        lane: ({ payload }) => payload.to,
        lanes: { order: 'strict' },
        timeout: '100ms',
        onError: retry(3, fixed('50ms')),
      })
      for (const to of ['a', 'b']) await scene.skep.enqueueMany(mail, many(to, 20))
      const handler = mail.handle(async ({ payload, signal }) => {
        note(started, payload)
        const fate = scene.runtime.random()
        if (fate < 0.2) throw new Error('no')
        if (fate < 0.3)
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        await pause(scene, 20 * fate)
        note(ended, payload)
      })

      for (const skep of [scene.skep, scene.client()]) skep.worker([handler])
      await scene.until(async () => {
        const { done = 0, dead = 0 } = await scene.counts('mail')
        return done + dead === 40
      }, 600_000)

      for (const order of started.values()) {
        expect(order).toEqual(order.toSorted((a, b) => a - b))
        expect(new Set(order).size).toBe(20)
      }
    },
  )

  it('goes on without a job whose tries are used up', async () => {
    const scene = openScene()
    const ran: number[] = []
    const mail = queue<number>('mail', { order: 'strict', onError: retry(1, fixed('1s')) })
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    scene.skep.worker([
      mail.handle(({ payload }) => {
        ran.push(payload)
        if (payload === 1) throw new Error('no')
      }),
    ])
    await scene.until(async () => (await scene.counts('mail')).done === 2)

    expect(ran).toEqual([1, 1, 2, 3])
    expect(await scene.counts('mail')).toEqual({ done: 2, dead: 1 })
  })

  it('is paused with the job in front, if its policy says so, until somebody resumes it', async () => {
    const scene = openScene()
    let broken = true
    const ran: number[] = []
    const mail = queue<number>('mail', {
      order: 'strict',
      lanes: { failing: 'hold' },
      onError: retry(1, fixed('1s')),
    })
    await scene.skep.enqueueMany(mail, [1, 2])
    scene.skep.worker([
      mail.handle(({ payload }) => {
        ran.push(payload)
        if (broken) throw new Error('the printer is out of paper')
      }),
    ])
    await scene.until(() => ran.length === 2)
    await scene.advance(600_000)
    expect(ran).toEqual([1, 1])
    const { holds } = await scene.truth.holds({})
    expect(holds).toMatchObject([{ kind: 'pause', queue: 'mail', lane: '', by: 'skep' }])
    expect(holds[0]?.reason).toMatch(/failed 2 times: the printer is out of paper/)

    broken = false
    await scene.truth.release({ holds: [{ kind: 'pause', space: 'default', queue: 'mail', lane: '' }] })
    await scene.until(async () => (await scene.counts('mail')).done === 2)

    expect(ran).toEqual([1, 1, 1, 2])
  })

  it('takes no job with a delay or a priority', async () => {
    const scene = openScene()
    const mail = queue<number>('mail', { order: 'strict' })

    for (const options of [{ delay: '1s' }, { runAt: new Date(0) }, { priority: 1 }] as const) {
      await expect(scene.skep.enqueue(mail, 1, options)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    }
    expect(await scene.counts('mail')).toEqual({})
  })
})

describe('what code declares', () => {
  it('is told to the store by the worker, and taken back when the code says it no more', async () => {
    const scene = openScene()
    const before = queue<Mail>('mail', {
      concurrency: 3,
      lanes: { weight: { gold: 3 } },
      lane: ({ payload }) => payload.to,
    })
    const after = queue<Mail>('mail', { rate: { limit: 5, per: '1m' } })

    await scene.skep.worker([before.handle(() => {})]).ready
    const first = await scene.truth.limits({ space: 'default' })
    await scene.client().worker([after.handle(() => {})]).ready
    const second = await scene.truth.limits({ space: 'default' })

    expect(first.limits.map(({ target, declared }) => [target, declared])).toEqual([
      [{ queue: 'mail', lane: 'gold' }, { weight: 3 }],
      [{ queue: 'mail' }, { concurrency: 3 }],
    ])
    expect(second.limits.map(({ declared }) => declared)).toEqual([
      { rate: { limit: 5, perMs: 60_000, burst: 1 } },
    ])
  })

  it('is refused when it makes no sense, before anything runs', () => {
    const bad: object[] = [
      { concurrency: 0 },
      { rate: { limit: 0, per: '1s' } },
      { rate: { limit: 1, per: 0 } },
      { rate: { limit: 1 } },
      { lanes: { order: 'loose' } },
      { lanes: { failing: 'hold' } },
      { lanes: { weight: 0 } },
      { lanes: { weight: { gold: 1.5 } } },
      { lanes: { concurency: 1 } },
      { lane: 'tenant' },
      { lane: () => 'a', order: 'strict' },
      { limit: 'api' },
      { cost: 0 },
    ]
    for (const options of bad) {
      expect(() => queue('mail', options), JSON.stringify(options)).toThrow(
        /OPTION_INVALID|use|say|not|cannot|about|has no option/,
      )
    }
  })

  it.each([
    [{ lane: (): string => '' }, {}, 'KEY_INVALID'],
    [{ lane: (): string => 7 as never }, {}, 'KEY_INVALID'],
    [{}, { lane: 'a\u0000' }, 'KEY_INVALID'],
    [{ cost: () => 0 }, {}, 'OPTION_INVALID'],
    [{}, { cost: 1.5 }, 'OPTION_INVALID'],
  ] as const)('refuses a job whose lane or cost is not one (%#)', async (options, own, code) => {
    const scene = openScene()

    await expect(scene.skep.enqueue(queue('mail', options), {}, own)).rejects.toMatchObject({ code })
  })
})
