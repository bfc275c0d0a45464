import { describe, expect, expectTypeOf, it } from 'vitest'
import { queue, type ScheduleDefinition, schedule } from '../../src/index.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'
import { inMinutes, MINUTE, SECOND, START, tick, watch } from './support.ts'

const make = (id: string, payload: number | string = 1): ScheduleDefinition =>
  schedule(id, { queue: tick, every: '1m', payload })

async function stored(scene: Scene): Promise<string[]> {
  return (await scene.skep.schedules.list()).schedules.map(({ id }) => id)
}

/** What another process declares, and brings into the store. */
async function deploy(
  scene: Scene,
  owner: string | undefined,
  ...schedules: ScheduleDefinition[]
): Promise<object> {
  const client = scene.client()
  client.schedules.declare(schedules, owner === undefined ? {} : { owner })
  return client.schedules.sync()
}

describe('schedules declared in code', () => {
  it('are made, changed and left alone by a sync', async () => {
    const scene = openScene()
    expect(await deploy(scene, 'app', make('a'), make('b'))).toEqual({ changed: 2, unchanged: 0, removed: 0 })
    expect(await deploy(scene, 'app', make('a'), make('b'))).toEqual({ changed: 0, unchanged: 2, removed: 0 })
    const before = await scene.skep.schedules.get('a')
    expect(await deploy(scene, 'app', make('a', 2), make('b'))).toEqual({
      changed: 1,
      unchanged: 1,
      removed: 0,
    })
    const after = await scene.skep.schedules.get('a')
    expect(after).toMatchObject({ declared: true, owner: 'app', payload: 2, nextAt: before?.nextAt })
    expect(after?.revision).not.toBe(before?.revision)
  })

  it('go when their owner no longer declares them; those of others stay', async () => {
    const scene = openScene()
    await deploy(scene, 'app', make('a'), make('b'))
    await deploy(scene, 'other', make('c'))
    await deploy(scene, undefined, make('d'))
    await scene.skep.schedules.put(make('e'))
    expect(await deploy(scene, 'app', make('b'))).toMatchObject({ removed: 1 })
    expect(await deploy(scene, 'other')).toMatchObject({ removed: 1 })
    expect(await deploy(scene, undefined)).toMatchObject({ removed: 0 })
    expect(await stored(scene)).toEqual(['b', 'd', 'e'])
  })

  it('win over those made at run time, and cannot be edited or removed then', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(make('a', 'by hand'))
    await deploy(scene, undefined, make('a', 'by code'))
    expect(await codeOf(scene.skep.schedules.put(make('a', 'by hand')))).toBe('SCHEDULE_DECLARED')
    expect(await codeOf(scene.skep.schedules.remove('a'))).toBe('SCHEDULE_DECLARED')
    expect(await scene.skep.schedules.get('a')).toMatchObject({
      payload: 'by code',
      declared: true,
      owner: null,
    })
    expect(await scene.skep.schedules.remove('a', { force: true })).toBe(true)
    expect(await scene.skep.schedules.remove('a')).toBe(false)
  })

  it('keep their pause over deploys', async () => {
    const scene = openScene()
    await deploy(scene, 'app', make('a'))
    await scene.skep.schedules.pause('a', { reason: 'too loud', by: 'ada' })
    await deploy(scene, 'app', make('a', 2))
    const { seen } = watch(scene)
    await scene.advance(5 * MINUTE + SECOND)
    expect(seen).toEqual([])
    expect((await scene.skep.schedules.get('a'))?.paused).toEqual({
      at: new Date(START),
      reason: 'too loud',
      by: 'ada',
    })

    await scene.skep.schedules.resume('a')
    await scene.advance(2 * MINUTE)
    expect(inMinutes(seen)).toEqual([6, 7])
  })

  it('keep a slot that is overdue when a deploy changes their payload, but not when it changes their slots', async () => {
    const scene = openScene()
    await deploy(scene, 'app', make('a', 'old'), make('b', 'old'))
    await scene.advance(10 * MINUTE)
    await deploy(scene, 'app', make('a', 'new'), schedule('b', { queue: tick, every: '90s', payload: 'new' }))
    const { seen } = watch(scene)
    await scene.advance(SECOND)
    const found = seen.map(
      ({ schedule: id, slot, payload }) => `${id} ${(slot ?? 0) / MINUTE} ${String(payload)}`,
    )
    expect(found.toSorted()).toEqual(['a 1 new', 'a 10 new', 'a 9 new'])
  })

  it('are synced by a worker, also when they are declared after its start or the store is away', async () => {
    const scene = openScene()
    scene.faults.break('before')
    scene.skep.schedules.declare([make('early')])
    const { seen } = watch(scene)
    await scene.advance(20 * SECOND)
    scene.faults.heal()
    await scene.until(async () => (await stored(scene)).length === 1, 20_000)
    scene.skep.schedules.declare([make('late')])
    await scene.advance(SECOND)
    expect(await stored(scene)).toEqual(['early', 'late'])
    await scene.advance(MINUTE)
    expect(seen.map(({ schedule: id }) => String(id)).toSorted()).toEqual(['early', 'late'])
  })

  it('that are not valid keep no others: a worker logs them, a sync throws', async () => {
    const scene = openScene()
    const strict = queue<{ n: bigint }>('strict')
    const bad = schedule('bad', { queue: strict, every: '1m', payload: { n: 1n } })
    scene.skep.schedules.declare([bad, make('good')])
    expect(await codeOf(scene.skep.schedules.sync())).toBe('PAYLOAD_NOT_JSON')
    const { seen } = watch(scene)
    await scene.advance(MINUTE + SECOND)
    expect(seen).toHaveLength(1)
    expect(scene.logged('error', /"bad" could not be declared/)).toBe(true)
  })

  it('are refused when two have one name', async () => {
    const { skep } = openScene()
    skep.schedules.declare([make('a')])
    expect(() => skep.schedules.declare([make('a')])).toThrow(
      expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
    )
    expect(() => skep.schedules.declare([make('b'), make('b')], { owner: 'x' })).toThrow(/declared twice/)
    expect(() => skep.schedules.declare([], { owner: 'no owner!' })).toThrow(
      expect.objectContaining({ code: 'NAME_INVALID' }),
    )
  })

  it('settle when two processes bring different ones at the same time', async () => {
    const scene = openScene()
    const many = (payload: number): ScheduleDefinition[] =>
      Array.from({ length: 40 }, (_, n) => make(`s${n}`, payload))
    await Promise.all([1, 2, 3].map((payload) => deploy(scene, 'app', ...many(payload))))
    const { schedules } = await scene.skep.schedules.list({ limit: 200 })
    expect(schedules).toHaveLength(40)
    expect(schedules.every(({ payload }) => [1, 2, 3].includes(payload as number))).toBe(true)
  })
})

describe('a schedule at run time', () => {
  it('can be run now, which its slots do not notice', async () => {
    const scene = openScene()
    await scene.skep.schedules.put(
      schedule('a', { queue: tick, every: '1m', overlap: 'skip', payload: 7, headers: { x: 'y' } }),
    )
    const { seen } = watch(scene)
    await scene.advance(10 * SECOND)
    const job = await scene.skep.schedules.runNow('a')
    await scene.through(job.result())
    expect(await scene.skep.jobs.get(job.id)).toMatchObject({
      payload: 7,
      headers: { x: 'y', 'skep-schedule': 'a' },
    })
    await scene.advance(MINUTE)
    expect(seen.map(({ schedule: id, slot }) => [id, slot])).toEqual([
      ['a', null],
      ['a', MINUTE],
    ])
    expect(await scene.skep.schedules.get('a')).toMatchObject({ fired: 1, skipped: 0 })
    expect(await codeOf(scene.skep.schedules.runNow('x'))).toBe('SCHEDULE_NOT_FOUND')
  })

  it('with a payload by function is run by who declared it alone, and cannot be put', async () => {
    const scene = openScene()
    const made = schedule('made', { queue: tick, every: '1m', payload: ({ slot }) => slot.getTime() - START })
    expect(await codeOf(scene.skep.schedules.put(made))).toBe('SCHEDULE_INVALID')
    scene.skep.schedules.declare([made])
    await scene.skep.schedules.sync()
    await scene.advance(5)
    const job = await scene.skep.schedules.runNow('made')
    expect((await scene.skep.jobs.get(job.id))?.payload).toBe(5)
    expect(await codeOf(scene.client().schedules.runNow('made'))).toBe('SCHEDULE_UNDECLARED')
  })

  it('shows its next slots, stored or not', async () => {
    const scene = openScene()
    const { schedules } = scene.skep
    const minute = (dates: readonly Date[]): number[] =>
      dates.map((date) => (date.getTime() - START) / MINUTE)
    expect(minute(await schedules.preview(make('a'), 3))).toEqual([1, 2, 3])
    await schedules.put(make('a'))
    await scene.advance(5 * MINUTE)
    // It is overdue: its next slot is the first that nobody fired.
    expect(minute(await schedules.preview('a', 3))).toEqual([1, 2, 3])
    await schedules.pause('a')
    expect(minute(await schedules.preview('a'))).toEqual([6, 7, 8, 9, 10])
    await schedules.put(schedule('last', { queue: tick, every: '1m', from: 'last-run', payload: 1 }))
    expect(minute(await schedules.preview('last', 3))).toEqual([6])
    expect(await codeOf(schedules.preview('x'))).toBe('SCHEDULE_NOT_FOUND')
    expect(await codeOf(schedules.preview('a', 0))).toBe('OPTION_INVALID')
  })

  it('is told apart from one that does not exist', async () => {
    const { schedules } = openScene().skep
    expect(await schedules.get('x')).toBeNull()
    expect(await schedules.remove('x')).toBe(false)
    expect(await codeOf(schedules.pause('x'))).toBe('SCHEDULE_NOT_FOUND')
    expect(await codeOf(schedules.resume('x'))).toBe('SCHEDULE_NOT_FOUND')
  })

  it('is listed page by page', async () => {
    const { schedules } = openScene().skep
    for (const id of ['c', 'a', 'b']) await schedules.put(make(id))
    const first = await schedules.list({ limit: 2 })
    expect(first.schedules.map(({ id }) => id)).toEqual(['a', 'b'])
    const second = await schedules.list({ limit: 2, cursor: first.cursor as string })
    expect([second.schedules.map(({ id }) => id), second.cursor]).toEqual([['c'], null])
  })
})

describe('the options of a schedule', () => {
  it.each<[string, object]>([
    ['neither cron nor every', {}],
    ['both', { cron: '* * * * *', every: '1m' }],
    ['a zone for an interval', { every: '1m', timeZone: 'UTC' }],
    ['a grid for a cron', { cron: '* * * * *', from: 'grid' }],
    ['an unknown rule', { every: '1m', missed: 'some' }],
    ['an unknown overlap', { every: '1m', overlap: 'queue' }],
    ['an overlap where there is none', { every: '1m', from: 'last-run', overlap: 'skip' }],
    ['a start that is no date', { every: '1m', startAt: new Date('x') }],
    ['an end before the start', { every: '1m', startAt: 5, endAt: 4 }],
    ['no queue', { every: '1m', queue: undefined }],
  ])('are refused: %s', (_what, options) => {
    expect(() => schedule('a', { queue: tick, payload: 1, ...options } as never)).toThrow(
      expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
    )
  })

  it('are refused with a name, a duration or headers that are not valid', () => {
    const code = (id: string, options: object): string => {
      try {
        schedule(id, { queue: tick, every: '1m', payload: 1, ...options } as never)
        return 'fine'
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    expect(code('not valid', {})).toBe('NAME_INVALID')
    expect(code('a', { every: 'soon' })).toBe('DURATION_INVALID')
    expect(code('a', { headers: { 'a b': '1' } })).toBe('HEADERS_INVALID')
    expect(code('a', { grace: '200000000w' })).toBe('OPTION_INVALID')
  })

  it('have the types of their queue', () => {
    const mail = queue<{ to: string }>('mail')
    schedule('a', { queue: mail, every: '1m', payload: { to: 'ada' } })
    schedule('a', {
      queue: mail,
      cron: '@daily',
      timeZone: 'Europe/Berlin',
      payload: ({ slot }) => {
        expectTypeOf(slot).toEqualTypeOf<Date>()
        return { to: slot.toISOString() }
      },
    })
    // @ts-expect-error the payload is missing
    expect(() => schedule('a', { queue: mail, every: '1m' })).not.toThrow()
    // @ts-expect-error the payload is not the queue's
    expect(() => schedule('a', { queue: mail, every: '1m', payload: { too: 'ada' } })).not.toThrow()
    // @ts-expect-error the function makes something else
    expect(() => schedule('a', { queue: mail, every: '1m', payload: () => ({ too: 1 }) })).not.toThrow()
    schedule('a', { queue: queue('any'), every: '1m' })
  })
})
