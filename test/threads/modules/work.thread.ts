import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { isMainThread, parentPort, threadId } from 'node:worker_threads'
import { bury, cancel, type JobContext, snooze, threadHandler } from 'skep'
import { followUp, type Sight, type Task, work } from './queues.ts'

export default threadHandler(work, async (job) => {
  const { payload } = job
  switch (payload.do) {
    case 'add':
      return payload.a + payload.b
    case 'look':
      return look(job)
    case 'thread':
      return threadId
    case 'spin':
      // Blocks its thread: nothing but a kill ends it, or the file it looks for.
      while (payload.until === undefined || !existsSync(payload.until)) spin()
      return 'spun'
    case 'wait':
      await once(job.signal, 'abort')
      throw job.signal.reason
    case 'clean-up':
      await once(job.signal, 'abort')
      await new Promise((resolve) => setTimeout(resolve, 50))
      return 'cleaned up'
    case 'throw':
      throw Object.assign(new TypeError('no', { cause: new RangeError('why') }), { code: 'E_NO' })
    case 'throw-text':
      throw 'only text' as unknown
    case 'throw-unreadable': {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      throw proxy as unknown
    }
    case 'throw-late':
      setTimeout(() => {
        throw new Error('outside of the handler')
      })
      return once(job.signal, 'abort')
    case 'exit':
      return process.exit(7)
    case 'exit-once':
      return job.attempt === 1 ? process.exit(7) : `alive at attempt ${job.attempt}`
    case 'fill-memory':
      for (const hoard: unknown[] = []; ; ) hoard.push(Array.from({ length: 10_000 }, () => ({})))
    case 'snooze':
      return job.attempt === 1 ? snooze(1, 'not yet') : 'awake'
    case 'cancel':
      return cancel('not needed')
    case 'bury':
      return bury('hopeless')
    case 'return-a-function':
      return () => {}
    case 'return-nothing':
      return undefined
    case 'enqueue':
      await job.enqueue(followUp, { from: job.id })
      if (payload.fails) throw new Error('after all not')
      return 'enqueued'
    case 'spawn': {
      const children = [2, 3].map((b) => work.job({ do: 'add', a: 1, b }))
      const { id } = await job.spawn(children, { next: work.job({ do: 'results' }) })
      if (payload.fails) throw new Error('after all not')
      return id
    }
    case 'results':
      // Both at the same time: each gets its own reply.
      return Promise.all([job.results<number>(), job.results<number>()])
    case 'complete':
      await job.complete(null, { tx: {} })
      return null
    case 'note':
      job.progress(0.5, 'half')
      job.log.warn('looked', { pages: 2, at: () => {} })
      job.log('done')
      return 'noted'
    case 'call':
      // What only looks like ours, or is of another run, is passed over.
      for (const strange of [null, 'hello', { said: 'what' }, { said: 'answer', run: 99, answer: {} }])
        parentPort?.postMessage(strange)
      parentPort?.postMessage({ said: 'call', run: 1, method: 'progress', values: [0.5, 'half'] })
      return 'called'
  }
})

function look(job: JobContext<Task>): Sight {
  const { id, queue, space, attempt, counters, headers, enqueuedAt, deadline, signal } = job
  return {
    id,
    queue,
    space,
    attempt,
    counters,
    headers,
    enqueuedAt: enqueuedAt.toISOString(),
    deadline: deadline?.toISOString() ?? null,
    aborted: signal.aborted,
    isThread: !isMainThread,
  }
}

function spin(): void {
  for (let i = 0; i < 1e6; i++);
}
