import type {
  ChangeSummary,
  CopyOptions,
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

/** What commands read and change: a Skep on its store, or a server in its place. */
export interface Counterpart extends Pick<Skep, 'space' | 'ready' | 'migrate' | 'spaces' | 'close'> {
  enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent>
  readonly jobs: Pick<
    Skep['jobs'],
    | 'get'
    | 'list'
    | 'count'
    | 'logs'
    | 'watch'
    | 'explain'
    | 'cancel'
    | 'bury'
    | 'retry'
    | 'promote'
    | 'reschedule'
    | 'remove'
  > & {
    copy(id: string, options: CopyOptions): Promise<Pick<Sent, 'id'>>
    prioritize(target: Target, priority: number, options: PrioritizeOptions): Promise<ChangeSummary>
  }
  readonly queues: Pick<
    Skep['queues'],
    'list' | 'explain' | 'pause' | 'resume' | 'block' | 'unblock' | 'holds' | 'drain' | 'purge' | 'drop'
  >
  readonly workers: Pick<Skep['workers'], 'list' | 'pause' | 'resume' | 'stop'>
  readonly notifier: Pick<Skep['notifier'], 'deadNotices'>
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
