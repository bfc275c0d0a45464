import { fixed, never, queue, retry } from 'skep'
import * as z from 'zod'

/** What a job of the queue `work` shall do in its thread. */
export type Task =
  | { readonly do: 'add'; readonly a: number; readonly b: number }
  | { readonly do: 'look' }
  | { readonly do: 'spin'; readonly until?: string }
  | { readonly do: 'wait' }
  | { readonly do: 'clean-up' }
  | {
      readonly do:
        | 'throw'
        | 'throw-text'
        | 'throw-unreadable'
        | 'throw-late'
        | 'exit'
        | 'exit-once'
        | 'fill-memory'
    }
  | { readonly do: 'snooze' | 'cancel' | 'bury' }
  | { readonly do: 'return-a-function' | 'return-nothing' }
  | { readonly do: 'enqueue'; readonly fails: boolean }
  | { readonly do: 'complete' }
  | { readonly do: 'thread' }
  | { readonly do: 'call' }
  | { readonly do: 'note' }
  | { readonly do: 'spawn'; readonly fails: boolean }
  | { readonly do: 'results' }

/** What a handler tells of itself. */
export interface Sight {
  readonly id: string
  readonly queue: string
  readonly space: string
  readonly attempt: number
  readonly counters: Readonly<Record<string, number>>
  readonly headers: Readonly<Record<string, string>>
  readonly enqueuedAt: string
  readonly deadline: string | null
  readonly aborted: boolean
  readonly isThread: boolean
}

const soon = retry(1, fixed(0))

export const work = queue<Task, unknown>('work', { onError: never(), onTimeout: never(), onLost: soon })
export const followUp = queue<{ from: string }>('follow-up')
export const dated = queue('dated', {
  payload: z.object({ day: z.string().transform((text) => new Date(text)) }),
  result: z.number().min(2000),
  onError: never(),
})
