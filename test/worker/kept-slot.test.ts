import { describe, expect, it } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import type { HandlerSpec } from '../../src/worker/handler.ts'
import { Window, type Wish } from '../../src/worker/prefetch.ts'
import { Run } from '../../src/worker/runs.ts'

const NOW = { along: false, least: 1 }

describe('one claim', () => {
  const spec = { space: 'acme', queue: 'mail', concurrency: Infinity, batch: 1 } as HandlerSpec
  /** From then on it is known that a run takes no time. */
  const runOne = (window: Window): void => {
    window.add([new Run({ lane: 'whale' } as ClaimedJob, spec, 0, 0)])
    window.take(() => true)
    window.free(spec, 0)
  }
  const asked = (window: Window): number | undefined => window.wish(NOW, 0)?.limit

  it('takes as many as the store says, and as many again are held', () => {
    const [usual, more] = [new Window([spec], 5_000), new Window([spec], 5_000, { jobsPerClaim: 1_000 })]

    expect([asked(usual), asked(more)]).toEqual([500, 1_000])
  })

  it('takes no more than usual from a queue with limits', () => {
    const window = new Window([spec], 5_000, { jobsPerClaim: 1_000 })
    const { sources } = window.wish(NOW, 0) as Wish
    window.answered(sources, sources, [0])
    window.reheat(sources)

    expect(asked(window)).toBe(500)
  })

  it.each([
    { slots: 100, store: {}, withNews: 170 },
    { slots: 300, store: {}, withNews: 300 },
    { slots: 100, store: { jobsPerClaimWithNews: 500 }, withNews: 500 },
  ])('takes less from one to which jobs keep coming, but what can start ($withNews)', (claim) => {
    const window = new Window([spec], claim.slots, claim.store)
    const ask = (now: number): number => {
      const wish = window.wish(NOW, now) as Wish
      window.answered(wish.sources, wish.sources, [0])
      return wish.limit
    }
    runOne(window)
    ask(0)

    const asked = [1_000, 1_100, 1_250].map((now) => {
      window.heat(spec, now === 1_000 ? 1 : null)
      return ask(now)
    })

    expect(asked).toEqual([claim.withNews, claim.withNews, 500])
  })

  it('of a queue with limits is the only one for a while after one that brought less than was asked for', () => {
    const window = new Window([spec], 2_000)
    runOne(window)
    const ask = (): Wish | null => {
      window.heat()
      return window.wish(NOW, 0)
    }
    const answer = ({ sources }: Wish, isFull: boolean): void =>
      window.answered(sources, isFull ? sources : [], [0])
    answer(ask() as Wish, true)

    // As long as claims are full there may be two.
    const [one, two] = [ask() as Wish, ask() as Wish]
    answer(one, true)
    answer(two, false)
    let alone = 0
    for (let claim = ask() as Wish; ; claim = ask() as Wish, alone++) {
      const beside = ask()
      answer(claim, true)
      if (beside !== null) break
    }

    expect(alone).toBe(128)
  })
})

/** A worker whose slots are all taken by a busy lane of a limited queue, of which more waits. */
class Crowd {
  readonly spec = { space: 'acme', queue: 'mail', concurrency: Infinity, batch: 1 } as HandlerSpec
  readonly window: Window

  constructor(slots: number) {
    this.window = new Window([this.spec], slots)
    this.answer(
      this.ask(),
      Array.from({ length: slots + 10 }, () => 'whale'),
    )
    this.start()
    // From now on it is known how long a run takes.
    this.end(1)
    this.start()
  }

  ask(): Wish {
    return this.window.wish(NOW, 0) as Wish
  }

  answer({ sources }: Wish, lanes: readonly string[]): void {
    this.window.answered(sources, [], [0])
    this.window.add(lanes.map((lane) => new Run({ lane } as ClaimedJob, this.spec, 0, 0)))
  }

  /** Fills the slots, and tells the lanes of what has started. */
  start(): (string | null)[] {
    const lanes: (string | null)[] = []
    for (let runs = this.take(); runs !== null; runs = this.take())
      lanes.push(...runs.map(({ job }) => job.lane))
    return lanes
  }

  end(count: number): void {
    for (let n = 0; n < count; n++) this.window.free(this.spec, 10)
  }

  private take(): Run[] | null {
    return this.window.take(() => true)
  }
}

describe('a slot', () => {
  it('is kept while new jobs are asked for, and taken by the one of another lane', () => {
    const crowd = new Crowd(50)
    crowd.window.heat(crowd.spec, 1)
    const wish = crowd.ask()

    crowd.end(2)
    expect(crowd.start()).toEqual(['whale'])
    crowd.answer(wish, ['minnow', 'whale'])
    expect(crowd.start()).toEqual(['minnow'])
  })

  it('is given to whoever waits if none of another lane came', () => {
    const crowd = new Crowd(50)
    crowd.window.heat(crowd.spec, 1)
    const wish = crowd.ask()

    crowd.end(1)
    expect(crowd.start()).toEqual([])
    crowd.answer(wish, [])
    expect(crowd.start()).toEqual(['whale'])
  })

  it('is not kept when nobody told of new jobs', () => {
    const crowd = new Crowd(50)
    crowd.window.heat()
    crowd.ask()

    crowd.end(1)
    expect(crowd.start()).toEqual(['whale'])
  })

  it('is not kept of a few', () => {
    const crowd = new Crowd(49)
    crowd.window.heat(crowd.spec, 1)
    crowd.ask()

    crowd.end(1)
    expect(crowd.start()).toEqual(['whale'])
  })
})
