/**
 * The notifier contract. A hint means "there may be work"; it may be lost, duplicated, late or wrong, and
 * nothing may depend on it. Polling alone finds all work; hints make it prompt.
 */
import { rankOf } from '../core/jobs/job.ts'
import type { Notices } from './notices.ts'

export interface Notifier {
  /** Sends hints, soon and merged. Never throws, waits, or slows its caller. Drops them while down. */
  publish(hints: readonly Hint[]): void

  /**
   * Instead of publishing: an encoded message with these hints, if it may be sent now. The caller passes it
   * to the store, which publishes it in the call that makes the hints true (`letter` of an insert). Null:
   * throttled, or other hints are pending. Only the notifier of a store that accepts such messages has it.
   */
  along?(hints: readonly Hint[]): string | null

  /**
   * Calls `listener` for hints published by any process, including this one. After every time hints may have
   * been missed (the first connection, a reconnection) it also receives a `sync`.
   */
  subscribe(listener: HintListener): Subscription

  health(): NotifierHealth

  /** Durable messages that name jobs, if supported. Workers then claim by id and rarely search the store. */
  readonly notices?: Notices

  /** Sends pending hints, ends subscriptions, closes what it opened. Idempotent. */
  close(): Promise<void>
}

/**
 * work: jobs of a queue became ready (or are delayed until `dueAt`, the earliest of them).
 * settled: jobs of a queue ended; callers waiting for a result check again.
 * cancel: running jobs are asked to stop.
 * watch: jobs of a queue are being followed, so its workers announce new log lines for {@link WATCH_MS}.
 * noted: attempts of a queue wrote log lines; followers read them. Sent only while there are followers.
 * schedules: schedules of a space were changed, so the next slot may come earlier than expected.
 * commands: there are commands for workers of a space; each worker checks for its own.
 * recall: jobs of a target must not start (a hold or a waiting lane); workers hand back prefetched jobs.
 * sync: hints may have been missed: check everything once.
 */
export type Hint =
  | {
      readonly kind: 'work'
      readonly space: string
      readonly queue: string
      /** The earliest due time among the jobs meant. */
      readonly dueAt: number
      /** The lowest rank among them, so that a worker that remembers its position looks back far enough. */
      readonly rank: number
      /**
       * All jobs meant, if they are plain (see `notices.ts`) and the sender knows them. Given only to a
       * notifier with notices, which sends a notice instead of a hint.
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

/** The TTL of a `watch`. Followers repeat it more often. */
export const WATCH_MS = 10_000

export type HintListener = (hints: readonly Hint[]) => void

export interface Subscription {
  /** No call to the listener starts after this. */
  end(): void
}

export interface NotifierHealth {
  /** `up`: hints are delivered. `down`: only polling finds work. `off`: disabled. */
  readonly status: 'up' | 'down' | 'off'
  readonly detail: string
}

export type WorkHint = Extract<Hint, { kind: 'work' }>

/** The hint that a job became ready, or will at its due time. Sent after every such transition. */
export function workHint(job: {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly priority: number
}): WorkHint {
  const { space, queue, dueAt, priority } = job
  return { kind: 'work', space, queue, dueAt, rank: rankOf(dueAt, priority) }
}

/** Greater than every rank: the hint concerns no new job. */
export const NO_RANK: number = Number.MAX_SAFE_INTEGER

/** The hint that jobs waiting for others may start now. */
export function roomHint(of: {
  readonly space: string
  readonly queue: string
  readonly dueAt: number
}): WorkHint {
  return { kind: 'work', ...of, rank: NO_RANK }
}

export interface ToldJob {
  readonly id: string
  readonly space: string
  readonly queue: string
  readonly dueAt: number
  readonly priority: number
  readonly lane: string | null
}

/** Jobs due within this time of each other are named together. */
const TOGETHER_MS = 100

/**
 * Hints for a notifier with notices: plain jobs are named, those of one queue with about the same due time in
 * one hint; others get ordinary hints.
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
 * Merges hints into one per queue: the earliest due time, the lowest rank. Hints that name jobs stay as they
 * are: each becomes a notice of its own, as large as its sender made it.
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
