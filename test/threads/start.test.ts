import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { threadHandler, type Worker } from '../../src/index.ts'
import { dated, followUp, work } from './modules/queues.ts'
import { openStage, root, type Stage, testFolder, testModules } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts', 'twice.mjs': 'twice.thread.ts' })
const folder = testFolder()

function written(name: string, text: string): URL {
  writeFileSync(join(folder, name), text)
  return pathToFileURL(join(folder, name))
}

/** Starts a worker with a job waiting for it, and gives why it does not start. */
async function whyNot(stage: Stage, url: URL): Promise<unknown> {
  const job = await stage.skep.enqueue(work, { do: 'add', a: 1, b: 1 })
  const why = await stage.worker([work.handleInThreads(url)]).then(
    () => 'it started',
    (error: unknown) => error,
  )
  expect(await job.get()).toMatchObject({ state: 'ready', starts: 0 })
  return why
}

describe('a worker does not start, and takes no job, when the handler module', () => {
  it('does not exist', async () => {
    const stage = await openStage('memory')

    const why = await whyNot(stage, pathToFileURL(join(folder, 'nowhere.mjs')))

    expect(why).toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('nowhere.mjs'),
      facts: { queue: 'work' },
      cause: { code: expect.stringContaining('MODULE_NOT_FOUND') },
    })
    expect(stage.log).toEqual([expect.stringContaining('The worker cannot start')])
  })

  it('cannot be read', async () => {
    const why = await whyNot(await openStage('memory'), written('broken.mjs', 'const ='))

    expect(why).toMatchObject({ code: 'THREAD_MODULE_INVALID', cause: { name: 'SyntaxError' } })
  })

  it('throws', async () => {
    const why = await whyNot(
      await openStage('memory'),
      written('throws.mjs', 'throw new Error("no database")'),
    )

    expect(why).toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('could not be loaded: no database'),
    })
  })

  it('ends its thread', async () => {
    const why = await whyNot(await openStage('memory'), written('ends.mjs', 'process.exit(4)'))

    expect(why).toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('exit code 4 while it was loaded'),
    })
  })

  it('has no handler', async () => {
    const why = await whyNot(await openStage('memory'), written('empty.mjs', 'export default 5'))

    expect(why).toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('does not call threadHandler for this queue.'),
    })
  })

  it('has the handler of another queue', async () => {
    const stage = await openStage('memory')

    const worker = stage.worker([followUp.handleInThreads(module('work.mjs'))])

    await expect(worker).rejects.toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('does not call threadHandler for this queue, but for "work"'),
    })
  })

  it('has two handlers of the queue', async () => {
    const why = await whyNot(await openStage('memory'), module('twice.mjs'))

    expect(why).toMatchObject({
      code: 'THREAD_MODULE_INVALID',
      message: expect.stringContaining('called twice'),
    })
  })

  it('is somewhere where no thread can be started from', async () => {
    const why = await whyNot(await openStage('memory'), new URL('https://example.com/work.mjs'))

    expect(why).toMatchObject({ code: 'THREAD_MODULE_INVALID' })
  })

  it('is only one of two', async () => {
    const stage = await openStage('memory')

    const worker = stage.worker([
      work.handleInThreads(module('work.mjs')),
      dated.handleInThreads(written('empty.mjs', '')),
    ])

    await expect(worker).rejects.toMatchObject({ code: 'THREAD_MODULE_INVALID', facts: { queue: 'dated' } })
  })
})

describe('the options of threads', () => {
  it.each([
    [{ threads: 0 }, 'threads is 0'],
    [{ threads: 1.5 }, 'threads is 1.5'],
    [{ memoryMb: 1 }, 'memoryMb is 1'],
  ])('are refused at once when they make no sense: %o', (options, message) => {
    expect(() => work.handleInThreads(module('work.mjs'), options)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(message) }),
    )
  })

  it('take no path that depends on where the program was started', () => {
    expect(() => work.handleInThreads('./work.mjs')).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        message: expect.stringContaining('import.meta.url'),
      }),
    )
  })

  it('take an absolute path and the text of a URL', async () => {
    for (const file of [module('work.mjs').href, join(folder, 'again.cjs')]) {
      writeFileSync(
        join(folder, 'again.cjs'),
        `module.exports = import(${JSON.stringify(module('work.mjs').href)})`,
      )
      const stage = await openStage('memory')
      const job = await stage.skep.enqueue(work, { do: 'add', a: 1, b: 1 })

      await stage.worker([work.handleInThreads(file)])

      expect(await job.result()).toBe(2)
    }
  })
})

describe('a handler module in TypeScript', () => {
  const hasTypeScript = Boolean((process.features as { readonly typescript?: unknown }).typescript)

  it.skipIf(hasTypeScript)('is refused with the line to add where Node does not read it', async () => {
    const stage = await openStage('memory')
    const source = written('source.ts', 'export const one: number = 1')

    for (const url of [source, written('importing.mjs', "import './source.ts'")]) {
      expect(await whyNot(stage, url)).toMatchObject({
        code: 'THREAD_MODULE_INVALID',
        message: expect.stringMatching(
          /npm install -D jiti.*\{ execArgv: \['--import', 'jiti\/register'\] \} to handleInThreads/,
        ),
        cause: { code: 'ERR_UNKNOWN_FILE_EXTENSION' },
      })
    }
  })

  it('can be named where the process itself does not read it: with options for its threads', async () => {
    vi.stubEnv('JITI_ALIAS', JSON.stringify({ skep: join(root, 'src/index.ts') }))
    onTestFinished(() => void vi.unstubAllEnvs())
    const stage = await openStage('memory')
    const job = await stage.skep.enqueue(work, { do: 'add', a: 1, b: 1 })

    const file = new URL('./modules/work.thread.ts', import.meta.url)
    await stage.worker([work.handleInThreads(file, { threads: 1, execArgv: ['--import', 'jiti/register'] })])

    expect(await job.result()).toBe(2)
  })
})

describe('threadHandler', () => {
  it('does nothing outside of a thread, and its function can be called like any other', async () => {
    const { queue, run } = threadHandler(dated, ({ payload }) => payload.day.getFullYear())
    const stage = await openStage('memory')
    const job = await stage.skep.enqueue(dated, { day: '2026-11-15' })

    const worker: Worker = await stage.worker([dated.handle(run)])

    expect(queue).toBe('dated')
    expect(await job.result()).toBe(2026)
    expect(worker.health().running).toBe(0)
  })
})
