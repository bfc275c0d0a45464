import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Store, WorkerInfo } from '../../src/store/store.ts'
import { createWorld, eventually } from './world.ts'

const worker = (id: string): WorkerInfo => ({
  id,
  space: 'acme',
  host: 'here',
  pid: process.pid,
  queues: ['mail'],
  concurrency: 2,
  running: 1,
  startedAt: 5,
  vitals: '{}',
})

// Locks of all databases of the server are listed.
const HOLDERS = `select l.pid from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and l.granted and d.datname = current_database()`

async function lives(store: Store): Promise<Record<string, string>> {
  const { workers } = await store.workers({ space: 'acme' })
  return Object.fromEntries(workers.map(({ id, life }) => [id, life]))
}

describe('the life of workers on PostgreSQL', () => {
  it('is known while they are there, and after they left', async () => {
    const { open } = await createWorld()
    const [here, there] = [await open({ migrate: true }), await open()]

    await here.attend({ worker: worker('a') })
    await here.attend({ worker: worker('b') })
    await there.attend({ worker: worker('c') })
    expect(await lives(there)).toEqual({ a: 'here', b: 'here', c: 'here' })

    await here.depart({ workerId: 'a' })
    expect(await lives(there)).toEqual({ b: 'here', c: 'here' })

    await here.close()
    await eventually('the locks to go with the connection', async () => (await lives(there))['b'] === 'gone')
    expect(await lives(there)).toEqual({ b: 'gone', c: 'here' })
  })

  it('ends soon after a process is killed', async () => {
    const { open, url } = await createWorld()
    const store = await open({ migrate: true })
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { createJiti } from 'jiti'
         const path = ${JSON.stringify(fileURLToPath(new URL('../../src/postgres.ts', import.meta.url)))}
         const { postgresStore } = await createJiti(path).import(path)
         const store = postgresStore({ url: ${JSON.stringify(url)} })
         await store.attend({ worker: ${JSON.stringify(worker('victim'))} })
         setInterval(() => {}, 1000)
         console.log('attends')`,
      ],
      { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await once(child.stdout, 'data')
    expect(await lives(store)).toEqual({ victim: 'here' })

    child.kill('SIGKILL')

    await eventually('the news', async () => (await lives(store))['victim'] === 'gone', 3_000)
  })

  it('goes on when a worker loses its connection and comes back', async () => {
    const { open, sql } = await createWorld()
    const [store, watcher] = [await open({ migrate: true }), await open()]
    await store.attend({ worker: worker('a') })
    const [{ pid }] = (await sql(HOLDERS)) as [{ pid: number }]

    await sql('select pg_terminate_backend($1)', [pid])

    await eventually('the lock to be taken again', async () => {
      const rows = await sql(HOLDERS)
      return rows.length === 1 && rows[0]?.['pid'] !== pid
    })
    expect(await lives(watcher)).toEqual({ a: 'here' })
  })

  it('is unsure without a connection of its own', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })

    await store.attend({ worker: worker('a') })

    expect(await lives(store)).toEqual({ a: 'unsure' })
    expect(store.capabilities.liveness).toBe(false)
  })

  it('is unsure, not gone, while a worker says so by heartbeat only', async () => {
    const { open, sql, roleUrl } = await createWorld()
    const watcher = await open({ migrate: true })
    // The role has room for the pool of one and no more, so the connection beside it is refused.
    const url = await roleUrl('connection limit 1')
    const store = await open({ url, connections: 1 })

    await store.attend({ worker: worker('a') })

    expect(await lives(watcher)).toEqual({ a: 'unsure' })
    await sql(`alter role ${new URL(url).username} connection limit 5`)
    await eventually('the lock', async () => {
      await store.attend({ worker: worker('a') })
      return (await lives(watcher))['a'] === 'here'
    })
  })
})
