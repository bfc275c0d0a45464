/**
 * A program of its own, for the tests of how a process ends. It does what its first argument says, prints what it
 * saw, one word to a line, and ends by itself, or not.
 */
import { createSkep, queue, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'

const mail = queue<number, number>('mail')
const store = memoryStore()
const skep = createSkep({ store, logger: silentLogger })
const say = (word: string): void => void process.stdout.write(`${word}\n`)

const lives: Record<string, () => Promise<void>> = {
  async 'stop and end'() {
    const worker = skep.worker([mail.handle(({ payload }) => payload * 2)])
    const jobs = await skep.enqueueMany(mail, [1, 2, 3])
    await skep.enqueue(mail, 4, { delay: '1h' })
    say(String(await jobs[2]!.result({ timeout: '1h' })))
    await worker.stop()
    say('stopped')
  },

  async 'close and end'() {
    skep.worker([mail.handle(({ payload }) => payload)])
    say(String(await (await skep.enqueue(mail, 7)).result()))
    const never = await skep.enqueue(mail, 8, { delay: '1h' })
    void never.result().catch((error: { code: string }) => say(error.code))
    await skep.close()
    say('closed')
  },

  async 'work until told'() {
    // Nothing but the worker keeps this process alive, from one look for work to the next.
    const worker = skep.worker([mail.handle(() => 1)], { poll: '100ms' })
    process.once('SIGTERM', () => void worker.stop().then(() => say('stopped')))
    const { claim } = store
    let looks = 0
    store.claim = (call) => {
      if (++looks === 5) say('still here')
      return claim(call)
    }
  },

  async 'drain a handler that holds nothing'() {
    const worker = skep.worker([mail.handle(() => new Promise<number>(() => {}))], {
      drain: '300ms',
      grace: '300ms',
    })
    const job = await skep.enqueue(mail, 1)
    while ((await job.get())?.state !== 'running') await new Promise((resolve) => setImmediate(resolve))
    await worker.stop()
    say((await job.get())?.state ?? 'absent')
  },

  async 'wait for a store that hangs'() {
    await skep.enqueue(mail, 1)
    store.counts = () => new Promise(() => {})
    void skep.queues.list().then(() => say('answered'))
    say('asked')
  },

  async 'only enqueue'() {
    await skep.enqueue(mail, 1)
    say('enqueued')
  },
}

process.on('unhandledRejection', (error) => say(`unhandled: ${String(error)}`))
await lives[process.argv[2] as string]?.()
