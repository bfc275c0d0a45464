import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import type { Store, WorkerInfo } from '../../src/store/store.ts'
import { exitOf, freshFile, messageFrom, openHandle, openStore, start } from './support.ts'

const me: WorkerInfo = {
  id: 'me',
  space: 'acme',
  host: hostname(),
  pid: process.pid,
  queues: ['mail', 'report'],
  concurrency: 10,
  running: 3,
  startedAt: 1_800_000_000_000,
  vitals: '{}',
}

async function lives(store: Store): Promise<Record<string, string>> {
  const { workers } = await store.workers({})
  return Object.fromEntries(workers.map(({ id, life }) => [id, life]))
}

describe('The life of a worker', () => {
  it('is known for the processes of this machine, at once when one is killed', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const other = start('attend', file)
    await messageFrom(other)
    await store.attend({ worker: me })
    const before = await lives(store)

    other.kill('SIGKILL')
    await exitOf(other)

    expect(before).toEqual({ me: 'here', other: 'here' })
    expect(await lives(store)).toEqual({ me: 'here', other: 'gone' })
  })

  it('is over when another process has its number', async (t) => {
    if (process.platform !== 'linux') return t.skip('only Linux tells when a process started')
    const file = freshFile()
    const store = openStore({ file })
    await store.attend({ worker: me })

    openHandle(file).exec("update skep_workers set process_start = '1'")

    expect(await lives(store)).toEqual({ me: 'gone' })
  })

  it('is not judged on another machine, or in another container', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await store.attend({ worker: { ...me, id: 'far', host: 'elsewhere', pid: 1 } })
    await store.attend({ worker: { ...me, id: 'container', pid: 999_999_999 } })

    openHandle(file).exec("update skep_workers set machine = 'boot pid:[1]' where id = 'container'")

    expect(await lives(store)).toEqual({ far: 'unsure', container: 'unsure' })
  })
})
