import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue } from '../../src/index.ts'
import type { Store, WorkerInfo } from '../../src/store/store.ts'
import { codeOf, countOf, createWorld, eventually, pause, range } from './world.ts'

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

async function lives(store: Store): Promise<Record<string, string>> {
  const { workers } = await store.workers({ space: 'acme' })
  return Object.fromEntries(workers.map(({ id, life }) => [id, life]))
}

/** Another process that runs this program with jiti, where `open` makes a store. Killed when the test ends. */
async function startProcess(url: string, program: string): Promise<{ kill(): void }> {
  const root = new URL('../../', import.meta.url)
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { createJiti } from 'jiti'
       const jiti = createJiti(${JSON.stringify(fileURLToPath(root))})
       const { redisStore } = await jiti.import('./src/redis.ts')
       const { createSkep, queue } = await jiti.import('./src/index.ts')
       const store = redisStore({ url: ${JSON.stringify(url)} })
       ${program}`,
    ],
    { cwd: fileURLToPath(root), stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return { kill: () => void child.kill('SIGKILL') }
}

describe('the life of workers on Redis', () => {
  it('is known while they are there, and after they left', async (t) => {
    const { open } = await createWorld(t)
    const [here, there] = [await open(), await open()]

    await here.attend({ worker: worker('a') })
    await here.attend({ worker: worker('b') })
    await there.attend({ worker: worker('c') })
    expect(await lives(there)).toEqual({ a: 'here', b: 'here', c: 'here' })

    await here.depart({ workerId: 'a' })
    expect(await lives(there)).toEqual({ b: 'here', c: 'here' })

    await here.close()
    await eventually('the news', async () => (await lives(there))['b'] === 'gone', 3_000)
    expect(await lives(there)).toEqual({ b: 'gone', c: 'here' })
  })

  it('goes on when a worker loses its connection again and again', async (t) => {
    const world = await createWorld(t)
    const [store, watcher] = [await world.open(), await world.open()]
    await store.attend({ worker: worker('a') })
    const seen = new Set<string>()

    for (let kills = 0; kills < 5; kills++) {
      await world.cli('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      for (let looks = 0; looks < 20; looks++) {
        seen.add(((await lives(watcher).catch(() => ({}))) as Record<string, string>)['a'] ?? 'no answer')
        await pause(10)
      }
    }

    // Without a heartbeat: the store says by itself that it has another connection.
    await eventually('the worker to be seen', async () => (await lives(watcher))['a'] === 'here')
    expect(seen).not.toContain('gone')
  })

  it('is unsure after a restart of the server until the worker is back', async (t) => {
    const world = await createWorld(t)
    const [store, watcher] = [await world.open(), await world.open()]
    await store.attend({ worker: worker('alive') })
    const other = await world.open()
    await other.attend({ worker: worker('dead') })

    await world.kill()
    await other.close()
    await world.restart()

    await eventually('the server', async () => (await codeOf(countOf(watcher))) === 'ok')
    await eventually('the worker', async () => (await lives(watcher))['alive'] === 'here')
    // About what was connected to the run before nobody knows anything: its leases tell.
    expect(await lives(watcher)).toEqual({ alive: 'here', dead: 'unsure' })
  })

  it('is unsure where the server lets nobody ask', async (t) => {
    const world = await createWorld(t)
    await world.cli('ACL', 'SETUSER', 'default', '-client|list', '-client|id')
    const store = await world.open()

    await store.attend({ worker: worker('a') })

    expect(await lives(store)).toEqual({ a: 'unsure' })
  })

  it('is not asked for where connections are shared', async (t) => {
    const { open } = await createWorld(t)
    const [store, other] = [await open({ liveness: false }), await open()]

    await store.attend({ worker: worker('a') })
    await other.attend({ worker: worker('b') })

    expect(store.capabilities.liveness).toBe(false)
    expect(await lives(store)).toEqual({ a: 'unsure', b: 'unsure' })
    expect(await lives(other)).toEqual({ a: 'unsure', b: 'here' })
  })

  it('ends soon after a process is killed, and its jobs run again within seconds', async (t) => {
    const world = await createWorld(t)
    const jobs = queue<number>('jobs')
    const skep = createSkep({ store: await world.open() })
    onTestFinished(() => skep.close())
    await skep.enqueueMany(jobs, range(0, 8))
    const victim = await startProcess(
      world.url,
      `const skep = createSkep({ store })
       let begun = 0
       skep.worker([queue('jobs').handle(() => {
         if (++begun === 8) console.log('all begun')
         return new Promise(() => {})
       })], { concurrency: 8 })
       setInterval(() => {}, 1000)`,
    )
    const again = new Set<number>()
    skep.worker([jobs.handle(({ payload }) => void again.add(payload))])

    victim.kill()

    await eventually('all jobs to run again', () => again.size === 8, 10_000)
  })
})
