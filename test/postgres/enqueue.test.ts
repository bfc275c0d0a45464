import { describe, expect, it } from 'vitest'
import { isJobId } from '../../src/core/names.ts'
import { createSkep, queue } from '../../src/index.ts'
import type { Hint, Notifier } from '../../src/notifier/notifier.ts'
import type { Store } from '../../src/store/store.ts'
import { createWorld, eventually } from './world.ts'

async function only(store: Store, space: string, id: string) {
  return (await store.get({ space, ids: [id] })).jobs[0]
}

describe('the SQL function enqueue', () => {
  it('adds a job with everything a job can have', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })

    const [plain] = await sql(`select skep.enqueue('mail') as id`)
    const [full] = await sql(
      `select skep.enqueue('mail', '{"a": [1, "é"]}', delay => interval '90 seconds', priority => -5,
        unique_key => 'k', space => 'acme', headers => '{"trace": "x"}') as id`,
    )

    expect(isJobId(plain?.['id']) && plain?.['id'][14] === '7').toBe(true)
    expect(await only(store, 'default', plain?.['id'])).toMatchObject({
      state: 'ready',
      payload: 'null',
      headers: null,
    })
    const job = await only(store, 'acme', full?.['id'])
    expect(job).toMatchObject({
      state: 'delayed',
      payload: '{"a": [1, "é"]}',
      priority: -5,
      uniqueKey: 'k',
      uniqueScope: 'active',
    })
    expect(JSON.parse(job?.headers ?? '')).toEqual({ trace: 'x' })
    expect((job?.dueAt ?? 0) - (job?.enqueuedAt ?? 0)).toBe(90_000)
    const { queues } = await store.counts({ space: 'acme' })
    expect(queues[0]?.states.delayed).toBe(1)
  })

  it('takes a moment in time, and the past for now', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })

    const [later] = await sql(`select skep.enqueue('mail', '1', run_at => '2100-01-01 00:00:00Z') as id`)
    const [past] = await sql(`select skep.enqueue('mail', '1', run_at => '1999-01-01 00:00:00Z') as id`)

    expect(await only(store, 'default', later?.['id'])).toMatchObject({
      state: 'delayed',
      dueAt: 4_102_444_800_000,
    })
    expect(await only(store, 'default', past?.['id'])).toMatchObject({ state: 'ready' })
  })

  it('gives the waiting job when the key is held', async () => {
    const { open, sql } = await createWorld()
    await open({ migrate: true })

    const [first] = await sql(`select skep.enqueue('mail', '1', unique_key => 'k') as id`)
    const [second] = await sql(`select skep.enqueue('mail', '2', unique_key => 'k') as id`)

    expect(second).toEqual(first)
    expect(await sql('select payload from skep.jobs')).toEqual([{ payload: '1' }])
  })

  it.each([
    [`delay => interval '2 hours', run_at => now() + interval '1 hour'`, 120],
    [`delay => interval '1 hour', run_at => now() + interval '2 hours'`, 120],
    [`delay => interval '1 hour', run_at => now() - interval '1 hour'`, 60],
  ])('takes the later of a delay and a moment: %s', async (when, minutes) => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })

    const [row] = await sql(`select skep.enqueue('mail', '1', ${when}) as id`)

    const job = await only(store, 'default', row?.['id'])
    const waits = ((job?.dueAt ?? 0) - (job?.enqueuedAt ?? 0)) / 60_000
    expect(Math.abs(waits - minutes)).toBeLessThan(0.5)
  })

  it('tells nobody by itself, because that would hold up the commits of others; wake does', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    const heard: Hint[] = []
    const notifier = store.notifier?.() as Notifier
    notifier.subscribe((hints) => void heard.push(...hints))
    await eventually('the connection', () => heard.length > 0)

    await sql(`select skep.enqueue('mail') from generate_series(1, 3)`)
    await sql(`select skep.wake('mail'), skep.wake('mail', 'acme')`)

    // What one session sends comes in order, so nothing was sent before.
    await eventually('the hint', () => heard.length > 2)
    expect(heard.slice(1)).toMatchObject([
      { kind: 'work', space: 'default', queue: 'mail' },
      { kind: 'work', space: 'acme', queue: 'mail' },
    ])
  })

  it('is found by a worker that was told nothing', async () => {
    const { open, sql } = await createWorld()
    const mail = queue<number>('mail')
    const skep = createSkep({ store: await open({ migrate: true }) })
    const handled: number[] = []
    skep.worker([mail.handle(({ payload }) => void handled.push(payload))], { poll: '100ms' })
    await skep.ready()

    await sql(`select skep.enqueue('mail', '7')`)

    await eventually('the job to run', () => handled.length > 0)
    expect(handled).toEqual([7])
    await skep.close()
  })

  it('wakes workers when the transaction commits, if it is asked to, and not when it rolls back', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    const heard: Hint[] = []
    const notifier = store.notifier?.() as Notifier
    notifier.subscribe((hints) => void heard.push(...hints))
    await eventually('the connection', () => heard.length > 0)

    await sql(`begin; select skep.enqueue('undone', notify => true); rollback`)
    await sql(`begin; select skep.enqueue('mail', '1', priority => 2, notify => true); commit`)

    await eventually('the hint', () => heard.length > 1)
    const [job] = (
      await store.list({ space: 'default', queue: 'mail', state: 'ready', limit: 1, cursor: null })
    ).jobs
    expect(heard.slice(1)).toEqual([
      {
        kind: 'work',
        space: 'default',
        queue: 'mail',
        dueAt: job?.dueAt,
        rank: (job?.dueAt ?? 0) - 1_200_000,
      },
    ])
  })

  it.each([
    ['a queue without a name', `''`],
    ['a queue that is null', 'null'],
    ['a queue with a strange name', `'a b'`],
    ['a name of 129 letters', `'${'q'.repeat(129)}'`],
    ['a payload that is null', `'q', null`],
    ['a payload that is too large', `'q', to_jsonb(repeat('x', 262143))`],
    ['a priority beyond the limit', `'q', priority => 101`],
    ['an empty key', `'q', unique_key => ''`],
    ['a key with a line break', `'q', unique_key => E'a\\nb'`],
    ['a key that is too long', `'q', unique_key => repeat('é', 257)`],
    ['a space with a strange name', `'q', space => '../x'`],
    ['headers that are a list', `'q', headers => '[]'`],
    ['headers that are not texts', `'q', headers => '{"a": 1}'`],
    ['headers with a strange name', `'q', headers => '{"a b": "1"}'`],
    ['headers with control characters', `'q', headers => '{"a": "x\\ny"}'`],
    ['a delay of a thousand years', `'q', delay => interval '1000 years'`],
  ])('refuses %s', async (_name, args) => {
    const { open, sql } = await createWorld()
    await open({ migrate: true })

    await expect(sql(`select skep.enqueue(${args})`)).rejects.toThrow(/^skep: /)

    expect(await sql('select 1 from skep.jobs')).toEqual([])
  })
})
