import { describe, expect, it } from 'vitest'
import { schedule } from '../../src/index.ts'
import type { Fault, Operation } from '../worker/support/faulty-store.ts'
import { openScene } from '../worker/support/scene.ts'
import { DAY, inMinutes, MINUTE, SECOND, slotsOf, tick, watch } from './support.ts'

const everyMinute = schedule('minutely', { queue: tick, every: '1m', payload: 1 })
const minutes = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1)

describe('a store with bad days', () => {
  it.each<[Operation, Fault]>([
    ['fireSchedules', 'before'],
    ['fireSchedules', 'lost'],
    ['fireSchedules', 'after'],
    ['fireSchedules', 'foreign'],
    ['dueSchedules', 'before'],
    ['dueSchedules', 'lost'],
    ['putSchedules', 'before'],
    ['putSchedules', 'after'],
    ['getSchedules', 'before'],
  ])('that fails in %s (%s) loses no slot and makes none twice', async (operation, fault) => {
    const scene = openScene()
    scene.skep.schedules.declare([everyMinute])
    scene.faults.next(operation, fault, fault)
    const { seen } = watch(scene)
    await scene.advance(MINUTE + 30 * SECOND)
    scene.faults.next(operation, fault, fault, fault)
    await scene.advance(4 * MINUTE)
    expect(inMinutes(seen)).toEqual(minutes(5))
    expect(scene.faults.calls.some((call) => call.operation === operation && call.failed)).toBe(true)
  })

  it('makes each job once when every second answer is lost and three processes try', async () => {
    const scene = openScene()
    const clients = [scene.skep, scene.client(), scene.client()]
    for (const client of clients) client.schedules.declare([everyMinute])
    const seen = clients.map((client) => watch(scene, client).seen)
    scene.faults.choose((operation) =>
      (operation === 'fireSchedules' || operation === 'dueSchedules') && scene.runtime.random() < 0.5
        ? 'after'
        : null,
    )
    await scene.advance(20 * MINUTE + 30 * SECOND)
    expect(inMinutes(seen.flat()).toSorted((a, b) => a - b)).toEqual(minutes(20))
  })

  it('that is away for two slots fires them when it is back, and goes on', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(schedule('often', { queue: tick, every: '10s', payload: 1 }))
    const { seen } = watch(scene)
    await scene.advance(15 * SECOND)
    scene.faults.break('before')
    await scene.advance(20 * SECOND)
    scene.faults.heal()
    await scene.advance(30 * SECOND)
    expect(slotsOf(seen)).toEqual([10, 20, 30, 40, 50, 60].map((n) => n * SECOND))
  })

  it('that was away for a day makes up for it as the schedule says', async () => {
    const scene = openScene()
    for (const missed of ['skip', 'once', 'all'] as const) {
      await scene.skep.schedules.put(schedule(missed, { queue: tick, cron: '0 * * * *', missed, payload: 1 }))
    }
    await scene.advance(DAY + 30 * MINUTE)
    const { seen } = watch(scene)
    await scene.advance(10 * SECOND)
    const count = (id: string): number => seen.filter((one) => one.schedule === id).length
    expect([count('skip'), count('once'), count('all')]).toEqual([0, 1, 24])
  })
})

describe('a process that dies', () => {
  it('after it has read what is due leaves the slot to another', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(everyMinute)
    // Its fires never arrive, and nobody tells it so: as if it had died before each of them.
    const dying = scene.client({ ...scene.truth, fireSchedules: () => new Promise(() => {}) })
    const first = watch(scene, dying)
    await scene.advance(2 * SECOND)
    const { seen } = watch(scene)
    await scene.advance(3 * MINUTE)
    expect([...first.seen, ...seen].map(({ slot }) => slot)).toEqual([MINUTE, 2 * MINUTE, 3 * MINUTE])
  })

  it('and reads what is due long before it fires makes nothing: others have', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(everyMinute)
    const slow = scene.client({
      ...scene.truth,
      async dueSchedules(call) {
        const reply = await scene.truth.dueSchedules(call)
        if (reply.schedules.length > 0)
          await new Promise<void>((resolve) => void scene.runtime.timer(40 * SECOND, resolve))
        return reply
      },
    })
    const seen = [watch(scene, slow).seen, watch(scene).seen]
    await scene.advance(5 * MINUTE + 30 * SECOND)
    expect(inMinutes(seen.flat()).toSorted((a, b) => a - b)).toEqual(minutes(5))
  })
})

describe('between the read and the fire', () => {
  /** Lets something happen after a process has read what is due. */
  const interrupted = async (
    act: (scene: ReturnType<typeof openScene>) => Promise<unknown>,
  ): Promise<number[]> => {
    const scene = openScene()
    await scene.skep.schedules.put(everyMinute)
    let isDone = false
    const process = scene.client({
      ...scene.truth,
      async dueSchedules(call) {
        const reply = await scene.truth.dueSchedules(call)
        if (reply.schedules.length > 0 && !isDone) {
          isDone = true
          await act(scene)
        }
        return reply
      },
    })
    const { seen } = watch(scene, process)
    await scene.advance(2 * MINUTE + SECOND)
    return inMinutes(seen)
  }

  it('a pause holds', async () => {
    expect(await interrupted(({ skep }) => skep.schedules.pause('minutely'))).toEqual([])
  })

  it('a removal holds', async () => {
    expect(await interrupted(({ skep }) => skep.schedules.remove('minutely'))).toEqual([])
  })

  it('a change holds: the new one is fired in its place', async () => {
    const changed = schedule('minutely', { queue: tick, every: '30s', payload: 2 })
    expect(await interrupted(({ skep }) => skep.schedules.put(changed))).toEqual([1.5, 2])
  })
})
