import type {
  AgainOptions,
  ChangeSummary,
  Duration,
  EnqueueOptions,
  LimitView,
  PrioritizeOptions,
  Queue,
  QueueLimitOptions,
  RunHandle,
  Skep,
  Target,
} from '../../index.ts'

/** What commands that look and change ask: a Skep on its store, or a server in its place. */
export interface Counterpart
  extends Pick<
    Skep,
    | 'space'
    | 'ready'
    | 'migrate'
    | 'get'
    | 'logs'
    | 'watch'
    | 'list'
    | 'count'
    | 'counts'
    | 'spaces'
    | 'explain'
    | 'explainQueue'
    | 'pause'
    | 'resume'
    | 'block'
    | 'unblock'
    | 'holds'
    | 'drain'
    | 'cancel'
    | 'bury'
    | 'redrive'
    | 'promote'
    | 'reschedule'
    | 'remove'
    | 'purge'
    | 'dropQueue'
    | 'workers'
    | 'deadNotices'
    | 'order'
    | 'close'
  > {
  enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent>
  again(id: string, options: AgainOptions): Promise<Pick<Sent, 'id'>>
  prioritize(target: Target, priority: number, options: PrioritizeOptions): Promise<ChangeSummary>
  readonly bulk: Pick<Skep['bulk'], 'start' | 'get' | 'list' | 'stop' | 'serve'>
  readonly errors: Pick<Skep['errors'], 'list' | 'get' | 'mute' | 'unmute'>
  readonly limits: Pick<Skep['limits'], 'list' | 'reset'> & {
    set(target: string, limits: QueueLimitOptions): Promise<LimitView>
  }
  readonly schedules: Pick<Skep['schedules'], 'get' | 'list' | 'remove' | 'pause' | 'resume' | 'preview'> & {
    runNow(id: string): Promise<Pick<Sent, 'id' | 'duplicate'>>
  }
  readonly runs: Pick<Skep['runs'], 'get' | 'list' | 'flows' | 'counts'> & {
    run(id: string): Pick<RunHandle, 'explain' | 'members' | 'signal' | 'cancel' | 'retry'>
  }
}

/** A job that was enqueued. */
export interface Sent {
  readonly id: string
  readonly duplicate: boolean
  result(options: { readonly timeout?: Duration }): Promise<unknown>
}
