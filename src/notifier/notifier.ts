/**
 * What a notifier promises: very little. A hint says "there may be work"; it may be lost, doubled,
 * late or wrong, and nothing may depend on it. Polling alone finds all work; hints make it prompt.
 */
import { rankOf } from '../core/jobs/job.ts'
import type { Notices } from './notices.ts'

export interface Notifier {
  /**
   * Sends hints, soon and merged. Never throws, never waits, never slows or fails what it tells about.
   * A notifier that is down drops them.
   */
  publish(hints: readonly Hint[]): void

  /**
   * Instead of publishing: the text that tells others of these hints, if it may go out now. Whoever asks hands it to the store, which
   * publishes it in the very call that makes the hints true (`letter` of an insert). Null: too soon after the last one, or others wait to go.
   * Only the notifier of a store that takes such letters has it.
   */
  along?(hints: readonly Hint[]): string | null

  /**
   * Calls `listener` for hints published by anyone, this process included. `listener` also gets
   * a `sync` after every time hints may have been missed (the first connection, a reconnection).
   */
  subscribe(listener: HintListener): Subscription

  /** What it is doing, for health reports. */
  health(): NotifierHealth

  /** Durable messages that name jobs, if it can carry them. Then workers claim by id, and search the store but seldom. */
  readonly notices?: Notices

  /** Sends what is pending, ends subscriptions, closes what it opened. Closing twice is fine. */
  close(): Promise<void>
}

/**
 * work: jobs of a queue became ready (or are delayed until `dueAt`, the earliest of them).
 * settled: jobs of a queue ended; whoever waits for a result looks again.
 * cancel: jobs that run shall stop.
 * watch: somebody follows jobs of a queue, so whoever runs some tells when they wrote notes, for a while ({@link WATCH_MS}).
 * noted: runs of a queue wrote notes; whoever follows one looks again. Sent only while somebody does.
 * schedules: schedules of a space were changed, so the next slot may come earlier than expected.
 * orders: workers of a space were told something, so each looks whether it was meant.
 * recall: jobs of a target must not start, because of a hold or because their lane was told to wait; a worker hands back what it has
 * taken of it and not started.
 * sync: hints may have been missed: look at everything once.
 */
export type Hint =
  | {
      readonly kind: 'work'
      readonly space: string
      readonly queue: string
      /** The earliest due time among the jobs meant. */
      readonly dueAt: number
      /** The lowest rank among them, so that a claimer that remembers where it was looks back far enough. */
      readonly rank: number
      /**
       * All the jobs meant, if they are plain (see `notices.ts`) and whoever tells knows them. Given only to a notifier
       * with notices, which carries such a hint as a notice and not as a hint.
       */
      readonly ids?: readonly string[]
    }
  | { readonly kind: 'settled'; readonly space: string; readonly queue: string }
  | { readonly kind: 'watch'; readonly space: string; readonly queue: string }
  | { readonly kind: 'noted'; readonly space: string; readonly queue: string }
  | { readonly kind: 'cancel'; readonly space: string; readonly ids: readonly string[] }
  | { readonly kind: 'schedules'; readonly space: string }
  | { readonly kind: 'commands'; readonly space: string }
  | {
      readonly kind: 'recall'
      /** Null: every space. */
      readonly space: string | null
      /** A name or a pattern. Null: every queue. */
      readonly queue: string | null
      /** Null: all of it. */
      readonly lane: string | null
    }
  | { readonly kind: 'sync' }

/** So long after a `watch` somebody is taken to be there still. Whoever follows says so more often. */
export const WATCH_MS = 10_000

export type HintListener = (hints: readonly Hint[]) => void

export interface Subscription {
  /** No call to the listener begins after this. */
  end(): void
}

export interface NotifierHealth {
  /** `up`: hints flow. `down`: only polling finds work now. `off`: there is none by choice. */
  readonly status: 'up' | 'down' | 'off'
  readonly detail: string
}

export type WorkHint = Extract<Hint, { kind: 'work' }>

/** The hint that a job became ready, or will at its due time. Sent after every transition that does so. */
export function workHint(job: {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly priority: number
}): WorkHint {
  const { space, queue, dueAt, priority } = job
  return { kind: 'work', space, queue, dueAt, rank: rankOf(dueAt, priority) }
}

/** After every rank: the hint tells of no job that is new. */
export const NO_RANK: number = Number.MAX_SAFE_INTEGER

/** The hint that jobs which waited for others may start now. */
export function roomHint(of: {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
}): WorkHint {
  return { kind: 'work', ...of, rank: NO_RANK }
}

/** A job as those see it who are told of it. */
export interface ToldJob {
  readonly id: string
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly priority: number
  readonly lane: string | null
}

/** Jobs that are due within so long of each other are named together. */
const TOGETHER_MS = 100

/**
 * Hints for a notifier with notices: plain jobs are named, those of one queue that are due at about the same time in one
 * hint; of the others a hint tells as ever.
 */
export function namingHints(jobs: Iterable<ToldJob>): Hint[] {
  const hints: Hint[] = []
  const named = new Map<string, { hint: WorkHint; ids: string[]; dueAt: number }>()
  for (const job of jobs) {
    const { id, space, queue, dueAt, priority, lane } = job
    if (priority !== 0 || lane !== null) {
      hints.push(workHint(job))
      continue
    }
    const key = `${space}\n${queue}\n${Math.floor(dueAt / TOGETHER_MS)}`
    const known = named.get(key)
    if (known === undefined) {
      named.set(key, { hint: workHint(job), ids: [id], dueAt })
    } else {
      known.ids.push(id)
      known.dueAt = Math.min(known.dueAt, dueAt)
    }
  }
  for (const { hint, ids, dueAt } of named.values()) hints.push({ ...hint, dueAt, ids })
  return hints
}

/**
 * One hint for each queue out of many: the earliest due time, the lowest rank. Those that name jobs stay as they are:
 * each is to be a notice of its own, as large as its sender made it.
 */
export function mergeHints(hints: readonly Hint[]): Hint[] {
  const merged = new Map<string, Hint>()
  const named: Hint[] = []
  for (const hint of hints) {
    if (hint.kind === 'work' && hint.ids !== undefined) {
      named.push(hint)
      continue
    }
    const key =
      hint.kind === 'sync'
        ? 'sync'
        : hint.kind === 'cancel' || hint.kind === 'schedules' || hint.kind === 'commands'
          ? `${hint.kind}\n${hint.space}`
          : hint.kind === 'recall'
            ? JSON.stringify(hint)
            : `${hint.kind}\n${hint.space}\n${hint.queue}`
    const known = merged.get(key)
    if (known?.kind === 'work' && hint.kind === 'work') {
      merged.set(key, {
        ...known,
        dueAt: Math.min(known.dueAt, hint.dueAt),
        rank: Math.min(known.rank, hint.rank),
      })
    } else if (known?.kind === 'cancel' && hint.kind === 'cancel') {
      merged.set(key, { ...known, ids: [...new Set([...known.ids, ...hint.ids])] })
    } else if (!known) {
      merged.set(key, hint)
    }
  }
  return named.length === 0 ? [...merged.values()] : [...merged.values(), ...named]
}
