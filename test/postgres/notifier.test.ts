import { describe, expect, it } from 'vitest'
import type { Hint, Notifier } from '../../src/notifier/notifier.ts'
import { postgresNotifier } from '../../src/postgres.ts'
import { describeNotifier } from '../../src/testing.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'
import { createWorld, eventually, newJob, take } from './world.ts'

const databases = new WeakMap<Notifier, FreshDatabase>()

function openOn(database: FreshDatabase): Notifier {
  const notifier = postgresNotifier({ url: database.url, connections: 1 })
  databases.set(notifier, database)
  return notifier
}

/** Removes the database with the notifier that opened it. */
async function open(): Promise<Notifier> {
  const database = await freshDatabase()
  const notifier = openOn(database)
  const own = { ...notifier }
  databases.set(own, database)
  own.close = async () => {
    await notifier.close()
    await database.drop()
  }
  return own
}

describeNotifier(
  'postgres',
  open,
  { describe, it },
  { reopen: async (notifier) => openOn(databases.get(notifier) as FreshDatabase) },
)

/** What a listener hears, and whether it was heard. */
function listen(notifier: Notifier): { heard: Hint[]; syncs(): number; hears(queue: string): Promise<void> } {
  const heard: Hint[] = []
  notifier.subscribe((hints) => void heard.push(...hints))
  return {
    heard,
    syncs: () => heard.filter(({ kind }) => kind === 'sync').length,
    hears: (queue) =>
      eventually(`a hint about ${queue}`, () =>
        heard.some((hint) => 'queue' in hint && hint.queue === queue),
      ),
  }
}

const LISTENERS = `select pid from pg_stat_activity where datname = current_database() and query like 'listen%'`

describe('the notifier of a Postgres store', () => {
  it('comes back after its connection was ended, and says that hints may have been missed', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    const other = await open()
    const notifier = store.notifier?.() as Notifier
    const ear = listen(notifier)
    await eventually('the first sync', () => ear.syncs() === 1)

    for (let time = 1; time <= 3; time++) {
      // It asks now and then whether the server is still there, so it is known by its waiting for nobody.
      await sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
         and pid <> pg_backend_pid() and (query like 'listen%' or query like 'select 1%' or query like '%advisory_lock%')`,
      )
      await eventually('the next sync', () => ear.syncs() === 1 + time)
      expect(notifier.health().status).toBe('up')
      other.notifier?.().publish([{ kind: 'settled', space: 'acme', queue: `after-${time}` }])
      await ear.hears(`after-${time}`)
    }
    expect(await sql(LISTENERS)).toHaveLength(1)
  })

  it('says that it is down while nobody answers', async () => {
    const notifier = postgresNotifier({ url: 'postgres://nobody@127.0.0.1:1/nothing' })
    const ear = listen(notifier)

    await eventually('a failed attempt', () => notifier.health().detail.includes('ECONNREFUSED'))
    notifier.publish([{ kind: 'settled', space: 'acme', queue: 'here' }])

    await ear.hears('here')
    expect(notifier.health().status).toBe('down')
    await notifier.close()
  })

  it('drops what is not a hint', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    const ear = listen(store.notifier?.() as Notifier)
    await eventually('the first sync', () => ear.syncs() === 1)

    for (const junk of [
      '',
      'hello',
      '{}',
      '[]',
      '[1]',
      'null',
      '[null,["work","acme","mail",0,0]]',
      '["x",["work","acme"],["work","acme","mail","0","0"],["work","acme","mail",1e400,0],{"kind":"sync"},["explode"]]',
      `["x",["settled","acme","${'q'.repeat(7_950)}"]]`,
    ]) {
      await sql(`select pg_notify('skep_skep', $1)`, [junk])
    }
    await sql(`select pg_notify('skep_skep', '["x",["settled","acme","last"]]')`)

    await ear.hears('last')
    expect(ear.heard).toEqual([{ kind: 'sync' }, { kind: 'settled', space: 'acme', queue: 'last' }])
  })

  it('brings one process its own hints once', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true })
    const notifier = store.notifier?.() as Notifier
    const ear = listen(notifier)
    await eventually('the first sync', () => ear.syncs() === 1)
    const other = listen((await open()).notifier?.() as Notifier)
    await eventually('the other sync', () => other.syncs() === 1)

    notifier.publish([{ kind: 'settled', space: 'acme', queue: 'once' }])

    // When the other has heard it, it has been through the database.
    await other.hears('once')
    expect(ear.heard.filter((hint) => 'queue' in hint && hint.queue === 'once')).toHaveLength(1)
  })

  it('says only that there is something to see when there is too much to tell', async () => {
    const { open } = await createWorld()
    const [here, there] = [await open({ migrate: true }), await open()]
    const ear = listen(there.notifier?.() as Notifier)
    await eventually('the first sync', () => ear.syncs() === 1)

    here.notifier?.().publish(
      Array.from({ length: 500 }, (_, n) => ({
        kind: 'settled',
        space: 'acme',
        queue: `queue-number-${n}`,
      })),
    )

    await eventually('a sync instead', () => ear.syncs() === 2)
  })

  it('does without a connection when it is told to, and still tells others', async () => {
    const { open, sql } = await createWorld()
    const deaf = await open({ migrate: true, listen: false })
    const hearing = listen((await open()).notifier?.() as Notifier)
    await eventually('the first sync', () => hearing.syncs() === 1)
    const own = listen(deaf.notifier?.() as Notifier)

    deaf.notifier?.().publish([{ kind: 'settled', space: 'acme', queue: 'mail' }])

    await Promise.all([own.hears('mail'), hearing.hears('mail')])
    expect(deaf.notifier?.().health().status).toBe('off')
    expect(await sql(LISTENERS)).toHaveLength(1)
  })

  it('never makes a call wait or fail', async () => {
    const { open, sql } = await createWorld()
    const store = await open({ migrate: true })
    await sql(`revoke execute on function pg_notify(text, text) from public`)
    const notifier = store.notifier?.() as Notifier

    for (let n = 0; n < 5_000; n++)
      notifier.publish([{ kind: 'settled', space: 'acme', queue: `queue-${n}` }])

    await store.insert({ jobs: [newJob()] })
    expect(await take(store)).toHaveLength(1)
  })
})
