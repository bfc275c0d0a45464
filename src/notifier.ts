/**
 * What a notifier promises: very little. A hint says "there may be work"; it may be lost, doubled,
 * late or wrong, and nothing may depend on it. Polling alone finds all work; hints make it prompt.
 */
export interface Notifier {
  /**
   * Sends hints, soon and merged. Never throws, never waits, never slows or fails what it tells about.
   * A notifier that is down drops them.
   */
  publish(hints: readonly Hint[]): void

  /**
   * Calls `listener` for hints published by anyone, this process included. `listener` also gets
   * a `sync` after every time hints may have been missed (the first connection, a reconnection).
   */
  subscribe(listener: HintListener): Subscription

  /** What it is doing, for health reports. */
  health(): NotifierHealth

  /** Sends what is pending, ends subscriptions, closes what it opened. Closing twice is fine. */
  close(): Promise<void>
}

/**
 * work: jobs of a queue became ready (or are delayed until `dueAt`, the earliest of them).
 * settled: jobs of a queue ended; whoever waits for a result looks again.
 * cancel: jobs that run shall stop.
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
    }
  | { readonly kind: 'settled'; readonly space: string; readonly queue: string }
  | { readonly kind: 'cancel'; readonly space: string; readonly ids: readonly string[] }
  | { readonly kind: 'sync' }

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
