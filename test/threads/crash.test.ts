import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { work } from './modules/queues.ts'
import { openStage, STORES, testFolder, testModules, until } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts' })
const folder = testFolder()

/** A module whose first thread dies when it gets its first job, before its handler does. */
function fickle(): URL {
  const died = JSON.stringify(join(folder, `died-${runs++}`))
  const file = join(folder, `fickle-${runs}.mjs`)
  writeFileSync(
    file,
    `import { existsSync, writeFileSync } from 'node:fs'
     import { parentPort } from 'node:worker_threads'
     if (!existsSync(${died})) {
       parentPort.once('message', () => process.exit(5))
       writeFileSync(${died}, '')
     }
     await import(${JSON.stringify(module('work.mjs').href)})`,
  )
  return pathToFileURL(file)
}
let runs = 0

// Would a death be noticed by the end of the lease alone, no test would live to see it.
const LONG = { lease: '1h' } as const

describe.each(STORES)('a thread that dies, over %s', (store) => {
  it('loses its job at once, and another thread runs it again', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })], LONG)

    const job = await stage.skep.enqueue(work, { do: 'exit-once' })

    expect(await job.result()).toBe('alive at attempt 2')
    expect(await job.get()).toMatchObject({ lost: 1, errors: 0, starts: 2 })
    expect(stage.told).toEqual(['lost: The thread that ran the job has ended: exit code 7'])
    expect(stage.log).toContain('A thread of queue "work" is replaced: it has ended by itself: exit code 7')
  })

  it('ends as lost for good when its tries are used up', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })], LONG)

    const job = await stage.skep.enqueue(work, { do: 'exit' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await job.get()).toMatchObject({
      state: 'dead',
      lost: 2,
      failure: { kind: 'lost', name: 'RunLostError' },
    })
  })

  it('may die of an error outside of the handler', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })], LONG)

    const job = await stage.skep.enqueue(work, { do: 'throw-late' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await job.get()).toMatchObject({
      lost: 2,
      failure: { kind: 'lost', causes: [{ name: 'Error', message: 'outside of the handler' }] },
    })
  })

  it('may die of too much memory', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1, memoryMb: 32 })], LONG)

    const job = await stage.skep.enqueue(work, { do: 'fill-memory' })

    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await job.get()).toMatchObject({
      lost: 2,
      failure: { kind: 'lost', message: expect.stringContaining('memory') },
    })
  })

  it('loses nothing when it dies before the job has reached it', async () => {
    const stage = await openStage(store)
    await stage.worker([work.handleInThreads(fickle(), { threads: 1 })], LONG)

    const job = await stage.skep.enqueue(work, { do: 'add', a: 2, b: 3 })

    expect(await job.result()).toBe(5)
    expect(await job.get()).toMatchObject({ starts: 1, lost: 0 })
    expect(stage.told).toEqual([])
    expect(stage.log).toEqual([expect.stringContaining('exit code 5')])
  })

  it('does not disturb the others', async () => {
    const stage = await openStage(store)
    const worker = await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 2 })], LONG)
    const file = join(stage.folder, 'go')
    const calm = await stage.skep.enqueue(work, { do: 'spin', until: file })
    await until(() => worker.health().running === 1)

    const wild = await stage.skep.enqueue(work, { do: 'exit' })
    await wild.result().catch(() => {})
    writeFileSync(file, '')

    expect(await calm.result()).toBe('spun')
    expect(await calm.get()).toMatchObject({ starts: 1, lost: 0 })
  })
})
