import { describe, expect, it } from 'vitest'
import { schedule } from '../../src/index.ts'
import { gate, openScene } from '../worker/support/scene.ts'
import { DAY, HOUR, inMinutes, MINUTE, SECOND, START, slotsOf, tick, watch } from './support.ts'

describe('a schedule', () => {
  it('makes its jobs at its slots, on time, and asks the store no more than that needs', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([
      schedule('minutely', { queue: tick, cron: '* * * * *', payload: { a: 1 } }),
    ])
    const { seen } = watch(scene)
    await scene.advance(3 * MINUTE + SECOND)

    expect(seen).toEqual(
      [1, 2, 3].map((n) => ({ schedule: 'minutely', slot: n * MINUTE, at: n * MINUTE, payload: { a: 1 } })),
    )
    // The first look, one at each slot and one after it, and one for each half minute without hints.
    expect(scene.faults.count('dueSchedules')).toBeLessThan(16)
    expect(scene.faults.count('fireSchedules')).toBe(3)
  })

  it('with ten thousand others costs one read and one write at its slot', async () => {
    const scene = openScene()
    const far = Array.from({ length: 10_000 }, (_, n) =>
      schedule(`far.${n}`, { queue: tick, cron: '0 0 1 1 *', payload: n }),
    )
    scene.skep.schedules.declare(far)
    await scene.skep.schedules.sync()
    await scene.skep.schedules.put(schedule('near', { queue: tick, every: '10s', payload: 1 }))
    expect(await scene.skep.schedules.sync()).toEqual({ changed: 0, unchanged: 10_000, removed: 0 })
    const { seen } = watch(scene)
    await scene.advance(5 * SECOND)
    const before = [scene.faults.count('dueSchedules'), scene.faults.count('fireSchedules')]

    await scene.advance(10 * SECOND)

    const after = [scene.faults.count('dueSchedules'), scene.faults.count('fireSchedules')]
    expect(slotsOf(seen)).toEqual([10 * SECOND])
    expect(after.map((count, n) => count - (before[n] as number))).toEqual([2, 1])
  })

  it('is fired once for each slot, however many processes there are', async () => {
    const scene = openScene()
    const made = [1, 2, 3].map((n) => schedule(`s${n}`, { queue: tick, every: '5s', payload: n }))
    const clients = [scene.skep, scene.client(), scene.client(), scene.client()]
    for (const client of clients) client.schedules.declare(made)
    const seen = clients.map((client) => watch(scene, client).seen)
    await scene.advance(MINUTE)

    const all = seen.flat().map(({ schedule: id, slot }) => `${id} ${slot}`)
    expect(all).toHaveLength(3 * 12)
    expect(new Set(all).size).toBe(all.length)
  })

  it('can be made by a process without a worker: one that sleeps hears of it', async () => {
    const scene = openScene()
    const { seen } = watch(scene)
    await scene.advance(SECOND)
    await scene.client().schedules.put(schedule('soon', { queue: tick, every: '2s', payload: 1 }))
    await scene.advance(5 * SECOND)
    expect(seen.map(({ at }) => at)).toEqual([2 * SECOND, 4 * SECOND, 6 * SECOND])
  })

  it('is found without hints as well, at the next look', async () => {
    const scene = openScene()
    const { seen } = watch(scene)
    await scene.advance(SECOND)
    scene.notifier.blackHole = true
    await scene.client().schedules.put(schedule('soon', { queue: tick, every: '2s', payload: 1 }))
    await scene.advance(MINUTE)
    expect(new Set(slotsOf(seen)).size).toBe(seen.length)
    expect(slotsOf(seen).slice(0, 25)).toEqual(Array.from({ length: 25 }, (_, n) => (n + 1) * 2 * SECOND))
  })

  it('gives its payload by function the slot, and the function its failures', async () => {
    const scene = openScene()
    let fails = 2
    scene.skep.schedules.declare([
      schedule('made', {
        queue: tick,
        every: '1m',
        payload: async ({ slot, schedule: id }) => {
          if (slot.getTime() === START + 2 * MINUTE && fails-- > 0) throw new Error('Not now.')
          return { id, slot: slot.getTime() - START }
        },
      }),
      schedule('plain', { queue: tick, every: '1m', payload: 'p' }),
    ])
    const { seen } = watch(scene)
    await scene.advance(3 * MINUTE + SECOND)

    const made = seen.filter(({ schedule: id }) => id === 'made')
    expect(made.map(({ payload }) => payload)).toEqual(
      [1, 2, 3].map((n) => ({ id: 'made', slot: n * MINUTE })),
    )
    // It was tried again after 1 and 2 seconds, and kept nobody else.
    expect(made[1]?.at).toBeGreaterThanOrEqual(2 * MINUTE + 3 * SECOND)
    expect(made[1]?.at).toBeLessThan(2 * MINUTE + 5 * SECOND)
    expect(seen.filter(({ schedule: id }) => id === 'plain').map(({ at }) => at)).toEqual(
      [1, 2, 3].map((n) => n * MINUTE),
    )
    expect(
      scene.log.filter(({ message }) => /"made" could not be fired: Not now/.test(message)),
    ).toHaveLength(1)
  })

  it('whose function hangs keeps the others no longer than ten seconds', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([
      schedule('hangs', { queue: tick, every: '1m', payload: () => new Promise(() => {}) }),
      schedule('plain', { queue: tick, every: '1m', payload: 'p' }),
    ])
    const { seen } = watch(scene)
    await scene.advance(MINUTE + 11 * SECOND)
    expect(seen.map(({ schedule: id }) => id)).toEqual(['plain'])
    expect(scene.logged('error', /"hangs" could not be fired: Its payload function did not return/)).toBe(
      true,
    )
  })

  it('whose function hangs does not keep a worker from stopping', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([
      schedule('hangs', { queue: tick, every: '1m', payload: () => new Promise(() => {}) }),
    ])
    const { worker } = watch(scene)
    await scene.advance(MINUTE + SECOND)
    const before = scene.runtime.mono()
    await scene.through(worker.stop())
    expect(scene.runtime.mono() - before).toBeLessThan(SECOND)
    expect(scene.logged('error', /hangs/)).toBe(false)
  })

  it('with a payload by function is left to those who declared it', async () => {
    const scene = openScene()
    const stranger = watch(scene, scene.client())
    scene.skep.schedules.declare([schedule('made', { queue: tick, every: '10s', payload: () => 1 })])
    await scene.skep.schedules.sync()
    await scene.advance(30 * SECOND)
    expect(stranger.seen).toEqual([])

    const { seen } = watch(scene)
    await scene.advance(SECOND)
    expect([...stranger.seen, ...seen].map(({ slot }) => slot)).toEqual([10_000, 20_000, 30_000])
  })

  it('that cannot be read keeps no other from being fired', async () => {
    const scene = openScene()
    const broken = {
      space: 'default',
      revision: 'r',
      spec: '{}',
      dynamic: false,
      declaredBy: null,
      expect: null,
    }
    await scene.truth.putSchedules({
      schedules: Array.from({ length: 300 }, (_, n) => ({ ...broken, id: `a.${n}`, nextAt: START })),
    })
    await scene.skep.schedules.put(schedule('sound', { queue: tick, every: '1m', payload: 1 }))
    const { seen } = watch(scene)
    await scene.advance(2 * MINUTE + SECOND)
    expect(seen.map(({ at }) => at)).toEqual([MINUTE, 2 * MINUTE])
    expect(scene.logged('error', /"a.1" could not be fired/)).toBe(true)
  })

  it('spreads the starts of its jobs over the jitter, and keeps its slots', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([
      schedule('spread', { queue: tick, every: '1m', jitter: '20s', payload: 1 }),
    ])
    const { seen } = watch(scene)
    await scene.advance(10 * MINUTE + 21 * SECOND)
    expect(inMinutes(seen)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const delays = seen.map(({ at, slot }) => at - (slot as number))
    expect(delays.every((ms) => ms >= 0 && ms <= 20 * SECOND)).toBe(true)
    expect(new Set(delays).size).toBeGreaterThan(5)
  })

  it('begins at its start, ends at its end, and stays to be seen', async () => {
    const scene = openScene()
    const bounds = { startAt: new Date(START + 90 * SECOND), endAt: START + 4 * MINUTE }
    await scene.skep.schedules.put(schedule('short', { queue: tick, every: '1m', payload: 1, ...bounds }))
    const { seen } = watch(scene)
    await scene.advance(10 * MINUTE)
    expect(slotsOf(seen)).toEqual([90 * SECOND, 150 * SECOND, 210 * SECOND])
    expect(await scene.skep.schedules.get('short')).toMatchObject({ nextAt: null, fired: 3 })
  })
})

describe('the overlap of a schedule', () => {
  it('skip waits for the last job, and counts the slots it left out', async () => {
    const scene = openScene()
    const work = [gate(), gate()]
    let runs = 0
    scene.skep.schedules.declare([schedule('one', { queue: tick, every: '1m', overlap: 'skip', payload: 1 })])
    scene.skep.worker([
      tick.handle(async () => {
        await work[runs++]?.promise
        return null
      }),
    ])
    await scene.advance(5 * MINUTE + SECOND)
    expect(runs).toBe(1)
    work[0]?.open()
    await scene.advance(MINUTE)
    expect(runs).toBe(2)
    expect(await scene.skep.schedules.get('one')).toMatchObject({ fired: 2, skipped: 4 })
    work[1]?.open()
  })

  it('replace stops the job that runs, and starts its own', async () => {
    const scene = openScene()
    const ended: unknown[] = []
    scene.skep.schedules.declare([
      schedule('one', { queue: tick, every: '1m', overlap: 'replace', payload: 1 }),
    ])
    scene.skep.worker([
      tick.handle(({ schedule: from, signal }) => {
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            ended.push(from?.slot?.getTime())
            reject(signal.reason as Error)
          })
        })
      }),
    ])
    await scene.advance(3 * MINUTE + SECOND)
    expect(ended).toEqual([START + MINUTE, START + 2 * MINUTE])
    expect(await scene.counts('tick')).toEqual({ running: 1, cancelled: 2 })
    const { jobs } = await scene.skep.jobs.list({ queue: 'tick', state: 'cancelled' })
    expect(jobs[0]?.failure?.message).toMatch(/next job of schedule "one" replaced it/)
  })
})

describe('an interval from the last run', () => {
  it('counts from the end of each job, however long that took', async () => {
    const scene = openScene()
    const starts: number[] = []
    scene.skep.schedules.declare([
      schedule('poll', { queue: tick, every: '1m', from: 'last-run', payload: 1 }),
    ])
    scene.skep.worker([
      tick.handle(() => {
        starts.push(scene.runtime.now() - START)
        const ms = [90 * SECOND, 5 * SECOND, 0][starts.length - 1] ?? 0
        return new Promise((resolve) => void scene.runtime.timer(ms, () => resolve(null)))
      }),
    ])
    await scene.advance(10 * MINUTE)
    const expected = [MINUTE, 210 * SECOND, 275 * SECOND, 335 * SECOND]
    starts.slice(0, 4).forEach((start, n) => {
      expect(start).toBeGreaterThanOrEqual(expected[n] as number)
      expect(start).toBeLessThan((expected[n] as number) + SECOND)
    })
  })

  it('goes on when the last job is gone, and after a long time without anybody makes one job', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(
      schedule('poll', { queue: tick, every: '1m', from: 'last-run', payload: 1 }),
    )
    const first = watch(scene)
    await scene.advance(MINUTE + SECOND)
    await first.worker.stop()
    await scene.skep.jobs.remove({ queue: 'tick', state: 'done' })
    await scene.advance(DAY)
    const { seen } = watch(scene)
    await scene.advance(2 * MINUTE + SECOND)
    expect([first.seen.length, seen.length]).toEqual([1, 3])
  })
})

describe('when nobody was there', () => {
  const late = async (
    missed: 'skip' | 'once' | 'all' | undefined,
    downMs: number,
  ): Promise<{ slots: number[]; skipped: number | undefined; most: number }> => {
    const scene = openScene()
    await scene.skep.schedules.put(
      schedule('minutely', { queue: tick, every: '1m', payload: 1, ...(missed ? { missed } : {}) }),
    )
    await scene.advance(downMs)
    const { seen } = watch(scene)
    await scene.advance(10 * SECOND)
    const view = await scene.skep.schedules.get('minutely')
    const calls = scene.faults.arguments('fireSchedules')
    const most = Math.max(...calls.map(({ fires }) => fires.reduce((sum, { jobs }) => sum + jobs.length, 0)))
    return { slots: inMinutes(seen), skipped: view?.skipped, most }
  }

  it('within the grace, every slot gets its job', async () => {
    expect((await late('skip', 90 * SECOND)).slots).toEqual([1])
    expect((await late('skip', MINUTE * 2)).slots).toEqual([1, 2])
  })

  it.each([
    ['skip', [29, 30], 28],
    ['once', [1, 29, 30], 27],
    [undefined, [1, 29, 30], 27],
  ] as const)('for half an hour, missed %s', async (missed, slots, skipped) => {
    const result = await late(missed, 30 * MINUTE)
    expect(result.slots.toSorted((a, b) => a - b)).toEqual(slots)
    expect(result.skipped).toBe(skipped)
  })

  it('for two days, missed all makes every job, in portions', async () => {
    const { slots, most } = await late('all', 2 * DAY)
    expect(slots.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_880 }, (_, n) => n + 1))
    expect(most).toBeLessThanOrEqual(1_000)
  }, 60_000)
})

describe('when the clock of the store jumps', () => {
  it('a day forward, the slots in between were missed', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([schedule('hourly', { queue: tick, cron: '0 * * * *', payload: 1 })])
    const { seen } = watch(scene)
    await scene.advance(HOUR + SECOND)
    scene.runtime.jump(DAY + 10 * MINUTE)
    await scene.advance(HOUR)
    expect(seen.map(({ slot }) => (slot as number) / HOUR)).toEqual([1, 2, 26])
  })

  it('back, no slot is fired again, also when its schedule is changed meanwhile', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([schedule('hourly', { queue: tick, cron: '0 * * * *', payload: 1 })])
    const { seen } = watch(scene)
    await scene.advance(2 * HOUR + SECOND)
    scene.runtime.jump(-90 * MINUTE)
    const other = scene.client()
    other.schedules.declare([schedule('hourly', { queue: tick, cron: '0 */1 * * *', payload: 1 })])
    await other.schedules.sync()
    await scene.advance(3 * HOUR)
    expect(seen.map(({ slot }) => (slot as number) / HOUR)).toEqual([1, 2, 3])
    // A second fire of a slot would make no second job, because its id is the same. It would be counted.
    expect(await scene.skep.schedules.get('hourly')).toMatchObject({ fired: 3 })
  })
})
