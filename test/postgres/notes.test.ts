import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { createWorld, eventually, newJobs, take, verdict, type World } from './world.ts'

const line = (n: number, text: string) => ({ n, at: n, level: 'info', text, fields: null }) as const

const noteOf = ({ space, id, token }: ClaimedJob, n: number, text: string) => ({
  space,
  id,
  token,
  progress: null,
  lines: [line(n, text)],
})

async function texts(store: Store, id: string): Promise<string[]> {
  return (await store.notes({ space: 'acme', id, after: 0, limit: 100 })).lines.map(({ text }) => text)
}

/** Somebody who is writing notes of these jobs just now, and takes their time. */
async function holdNotes({ url }: World): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query('select 1 from skep.notes for update')
  return { release: async () => void (await client.query('commit')) }
}

describe('notes in Postgres', () => {
  it('of one who lost the lease while it waited for its turn are refused', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: newJobs(1) })
    const [zombie] = (await take(store)) as [ClaimedJob]
    await store.note({ notes: [noteOf(zombie, 1, 'alive')] })
    const writer = await holdNotes(world)

    const late = store.note({ notes: [noteOf(zombie, 2, 'undead')] })
    await eventually('the note to wait', async () => {
      const waiting = await world.sql(`select 1 from pg_stat_activity where wait_event_type = 'Lock'`)
      return waiting.length > 0
    })
    const rescue = {
      space: zombie.space,
      id: zombie.id,
      token: zombie.token,
      rescue: true,
      verdict: verdict({ to: 'ready' }),
    }
    await store.settle({ settlements: [rescue] })
    expect(await take(store)).toHaveLength(1)
    await writer.release()

    expect((await late).results).toEqual([{ status: 'refused', reason: 'lost' }])
    expect(await texts(store, zombie.id)).toEqual(['alive'])
  })

  it('hold up nobody who ends or removes a job, and then go by their own time', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: newJobs(3) })
    const jobs = await take(store)
    await store.note({ notes: jobs.map((job) => noteOf(job, 1, 'x')) })
    const [first, second, third] = jobs as [ClaimedJob, ClaimedJob, ClaimedJob]
    await store.settle({
      settlements: [{ space: second.space, id: second.id, token: second.token, verdict: verdict() }],
    })
    const expired = { ...verdict(), keepMs: 0 }
    await store.settle({
      settlements: [{ space: third.space, id: third.id, token: third.token, verdict: expired }],
    })
    const writer = await holdNotes(world)

    const discard = {
      space: first.space,
      id: first.id,
      token: first.token,
      verdict: verdict({ keepMs: null }),
      noted: true,
    }
    expect((await store.settle({ settlements: [discard] })).results[0]?.status).toBe('ok')
    const target = { ids: [second.id] }
    const remove = { action: 'remove', space: 'acme', target, failure: null, keepMs: 0 } as const
    expect((await store.change(remove)).results[0]?.status).toBe('ok')
    expect((await store.prune({ limit: 10 })).pruned).toBe(1)
    await writer.release()

    expect(await world.sql('select 1 from skep.notes')).toHaveLength(3)
    await store.prune({ limit: 10, now: Date.now() + 8 * 86_400_000 })
    expect(await world.sql('select 1 from skep.notes')).toEqual([])
    expect(await world.sql('select 1 from skep.note_lines')).toEqual([])
  })

  it('change no index while they are written within an hour', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    await store.insert({ jobs: newJobs(1) })
    const [job] = (await take(store)) as [ClaimedJob]
    const now = 1_800_000_000_000
    const until = async (passed: number, n: number): Promise<string> => {
      await store.note({ notes: [noteOf(job, n, 'x')], now: now + passed })
      return (await world.sql('select until from skep.notes'))[0]?.['until']
    }

    const first = await until(0, 1)

    expect(await until(3_599_999, 2)).toBe(first)
    expect(await until(3_600_000, 3)).not.toBe(first)
  })

  it('are heard of by whoever watches in another process', async () => {
    const world = await createWorld()
    const mail = queue<number, number>('mail')
    const [there, here] = [await world.open({ migrate: true }), await world.open()].map((store) =>
      createSkep({ store, logger: silentLogger }),
    ) as [ReturnType<typeof createSkep>, ReturnType<typeof createSkep>]
    let proceed!: () => void
    const told = new Promise<void>((resolve) => {
      proceed = resolve
    })
    there.worker([
      mail.handle(async ({ log, progress, payload }) => {
        log('begun')
        progress(10)
        await told
        log('ending')
        progress(100)
        return payload
      }),
    ])
    const { id } = await there.enqueue(mail, 1)

    const seen: string[] = []
    for await (const event of here.jobs.watch(id)) {
      if (event.kind === 'log') seen.push(event.message)
      if (event.kind === 'progress') seen.push(String(event.value))
      // It goes on only when the other process has seen what came before.
      if (event.kind === 'progress' && event.value === 10) proceed()
      if (event.kind === 'state' && event.state === 'done') seen.push('done')
    }
    await Promise.all([there.close(), here.close()])

    expect(seen).toEqual(['begun', '10', 'ending', '100', 'done'])
  })
})
