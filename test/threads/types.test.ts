import { describe, expectTypeOf, it } from 'vitest'
import { queue, snooze, threadHandler } from '../../src/index.ts'
import { dated, work } from './modules/queues.ts'

// Nothing here runs: the compiler is the test.
const compiled = (_body: () => unknown): void => {}
const file = new URL('./somewhere.js', import.meta.url)
const mail = queue<{ to: string }, { id: string }>('mail')

describe('the types of a handler for threads', () => {
  it('are those of its queue', () => {
    threadHandler(mail, ({ payload, signal }) => {
      expectTypeOf(payload).toEqualTypeOf<{ to: string }>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      return { id: payload.to }
    })
    threadHandler(dated, ({ payload }) => {
      expectTypeOf(payload.day).toEqualTypeOf<Date>()
      return 1
    })
    threadHandler(mail, async () => snooze('5m'))
    // @ts-expect-error the result is an object with an id
    threadHandler(mail, () => 'wrong')
    // @ts-expect-error also when it is a promise
    threadHandler(mail, async () => ({ id: 1 }))
  })

  it('tell when a module is the handler of another queue', () => {
    compiled(() => work.handleInThreads<typeof import('./modules/work.thread.ts')>(file))
    compiled(() => dated.handleInThreads<typeof import('./modules/dated.thread.ts')>(file, { threads: 4 }))
    // @ts-expect-error its payload is another one
    compiled(() => mail.handleInThreads<typeof import('./modules/work.thread.ts')>(file))
    // @ts-expect-error it has no default export
    compiled(() => mail.handleInThreads<typeof import('./modules/queues.ts')>(file))
  })

  it('need no module to be named', () => {
    compiled(() => mail.handleInThreads(file, { threads: true, grace: '2s', memoryMb: 256 }))
    // @ts-expect-error false is no number of threads
    compiled(() => mail.handleInThreads(file, { threads: false }))
  })
})
