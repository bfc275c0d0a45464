import { describe, expect, it } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import {
  bury,
  cancel,
  fixed,
  type HandlerFunction,
  LeaseLostError,
  never,
  queue,
  retry,
  snooze,
} from '../../src/index.ts'
import { openScene, type Scene } from './support/scene.ts'

/** Runs one job to its end, or until it waits again. */
async function outcomeOf(
  scene: Scene,
  run: HandlerFunction<number, unknown>,
  onError = never(),
): Promise<Job> {
  const one = queue<number, unknown>('one', { onError })
  const job = await scene.skep.enqueue(one, 1)
  scene.skep.worker([one.handle(run)])
  await scene.until(async () => !['ready', 'running'].includes(await scene.state(job.id)))
  return scene.job(job.id)
}

class Money {
  readonly #cents = 5
  get cents(): number {
    return this.#cents
  }
}

describe('returning is success, whatever the value', () => {
  it.each<[string, unknown, string | null]>([
    ['nothing', undefined, null],
    ['null', null, 'null'],
    ['false', false, 'false'],
    ['zero', 0, '0'],
    ['an empty text', '', '""'],
    ['a list', [1, [2]], '[1,[2]]'],
    ['an object that says it failed', { success: false }, '{"success":false}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])('%s', async (_name, value, stored) => {
    const scene = openScene()

    expect(await outcomeOf(scene, () => value)).toMatchObject({ state: 'done', result: stored, errors: 0 })
    expect(scene.told.map(({ name }) => name)).toEqual(['received', 'finished'])
  })

  it('an error object', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, async () => new RangeError('too far'))

    expect(job).toMatchObject({ state: 'done', errors: 0 })
    expect(JSON.parse(job.result as string)).toMatchObject({ name: 'RangeError', message: 'too far' })
  })

  it('a thenable, also one that answers twice', async () => {
    const scene = openScene()
    const method = ['th', 'en'].join('')
    const twice = {
      [method](resolve: (value: number) => void): void {
        resolve(1)
        resolve(2)
      },
    }

    const job = await outcomeOf(scene, () => twice as unknown as Promise<number>)

    expect(job).toMatchObject({ state: 'done', result: '1' })
  })
})

describe('a result that cannot be stored is an error of the run, and nothing else breaks', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  it.each<[string, unknown]>([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a big integer', 1n],
    ['a circle', circle],
    ['not a number', Number.NaN],
    ['a map', new Map()],
    [
      'an object whose toJSON throws',
      {
        toJSON: () => {
          throw new Error('no')
        },
      },
    ],
    [
      'an object with a getter that throws',
      {
        get secret(): string {
          throw new Error('no')
        },
      },
    ],
    ['half a surrogate pair', '\ud800'],
    ['a text too large', 'x'.repeat(300_000)],
    ["an object of a class of one's own with private parts", new Money()],
  ])('%s', async (name, value) => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => value)

    // A class instance without public fields is an empty object, as JSON sees it; everything else is refused.
    if (job.state === 'done') expect(name).toContain('private parts')
    else expect(job).toMatchObject({ state: 'dead', errors: 1 })
  })
})

describe('throwing is an error, whatever is thrown', () => {
  const unspeakable = Object.create(null) as Record<string, unknown>
  unspeakable['self'] = unspeakable
  it.each<[string, () => unknown]>([
    ['an error', () => new Error('boom')],
    ['a text', () => 'boom'],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a number', () => 42],
    ['an object', () => ({ code: 7 })],
    ['a symbol', () => Symbol('boom')],
    ['a circle without a prototype', () => unspeakable],
    ['an error with a message that is no text', () => Object.assign(new Error('x'), { message: 42 })],
    ['an error with a name that is no text', () => Object.assign(new Error('x'), { name: 42 })],
    ['an error with a stack that is no text', () => Object.assign(new Error('x'), { stack: ['a'] })],
    [
      'an error whose cause is itself',
      () => {
        const e = new Error('x')
        e.cause = e
        return e
      },
    ],
    [
      'an error that throws when read',
      () =>
        Object.defineProperty(new Error('x'), 'message', {
          get() {
            throw new Error('y')
          },
        }),
    ],
    [
      'a proxy that was revoked',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
    ],
  ])('%s, from an async handler', async (_name, make) => {
    const scene = openScene()

    const job = await outcomeOf(scene, async () => {
      throw make()
    })

    expect(job).toMatchObject({ state: 'dead', errors: 1 })
    expect(typeof (JSON.parse(job.failure as string) as { message: unknown }).message).toBe('string')
  })

  it('an error from a handler that is not async', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => {
      throw new TypeError('boom', { cause: new Error('why') })
    })

    expect(JSON.parse(job.failure as string)).toMatchObject({
      kind: 'error',
      name: 'TypeError',
      message: 'boom',
      causes: [{ name: 'Error', message: 'why' }],
    })
  })

  it('a lost lease of another job is an error like any other', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => {
      throw new LeaseLostError('01a31c50-0000-7000-8000-000000000001')
    })

    expect(job).toMatchObject({ state: 'dead', errors: 1, lost: 0 })
  })

  it('it is tried again as often as the policy says, and then buried', async () => {
    const scene = openScene()
    const flaky = queue<number>('flaky', { onError: retry(2, fixed('10s')) })
    const attempts: number[] = []
    const job = await scene.skep.enqueue(flaky, 1)
    scene.skep.worker([
      flaky.handle(({ attempt, counters }) => {
        attempts.push(attempt, counters.errors)
        throw new Error('always')
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'dead')

    expect(attempts).toEqual([1, 0, 2, 1, 3, 2])
    expect(scene.toldOf(job.id)).toEqual([
      'received',
      'error',
      'received',
      'error',
      'received',
      'error',
      'dead',
    ])
  })
})

describe('instructions', () => {
  it('snooze: the job comes back later, and only a snooze is counted', async () => {
    const scene = openScene()
    const nap = queue<number>('nap')
    const job = await scene.skep.enqueue(nap, 1)
    const times: number[] = []
    scene.skep.worker([
      nap.handle(({ counters }) => {
        times.push(scene.runtime.now())
        return counters.snoozes < 3 ? snooze('5m', 'not yet') : 'rested'
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'delayed')
    expect(JSON.parse((await scene.job(job.id)).failure as string)).toEqual({
      kind: 'snooze',
      message: 'not yet',
    })
    await scene.until(async () => (await scene.state(job.id)) === 'done', 3_600_000)

    expect(await scene.job(job.id)).toMatchObject({ snoozes: 3, errors: 0, starts: 4, failure: null })
    expect(times.slice(1).map((time, n) => time - times[n]!)).toEqual([300_000, 300_000, 300_000])
    expect(scene.toldOf(job.id).filter((name) => name === 'snoozed')).toHaveLength(3)
  })

  it('snooze without a wait: at once, behind what is due already', async () => {
    const scene = openScene()
    const job = await outcomeOf(scene, ({ counters }) => (counters.snoozes === 0 ? snooze(0) : 'ok'))

    expect(job).toMatchObject({ state: 'done', snoozes: 1 })
  })

  it('cancel: the job is cancelled, with the reason', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => cancel('nobody wants it'))

    expect(job).toMatchObject({ state: 'cancelled', errors: 0 })
    expect(JSON.parse(job.failure as string)).toEqual({ kind: 'cancel', message: 'nobody wants it' })
    expect(scene.toldOf(job.id)).toEqual(['received', 'cancelled'])
  })

  it('bury: the job is dead at once, whatever tries are left', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => bury('hopeless'), retry(100))

    expect(job).toMatchObject({ state: 'dead', errors: 0, starts: 1 })
    expect(scene.toldOf(job.id)).toEqual(['received', 'error', 'dead'])
  })

  it.each(['cancel', 'bury'] as const)('%s without a reason, from a program without types', async (kind) => {
    const scene = openScene()
    const make = { cancel, bury }[kind] as unknown as () => ReturnType<typeof cancel>

    const job = await outcomeOf(scene, () => make())

    expect(job.state).toBe(kind === 'cancel' ? 'cancelled' : 'dead')
  })

  it('a wait that is no duration is an error of the run', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => snooze('soon' as unknown as '1s'))

    expect(job).toMatchObject({ state: 'dead', errors: 1 })
    expect(JSON.parse(job.failure as string)).toMatchObject({ code: 'DURATION_INVALID' })
  })

  it('a wait beyond a hundred years is an error of the run, before any store overflows', async () => {
    const scene = openScene()

    const job = await outcomeOf(scene, () => snooze('99999999999w'))

    expect(job).toMatchObject({ state: 'dead', errors: 1 })
  })
})
