import {
  type DeadNoticeOptions,
  type DeadNoticeViewPage,
  type DrainOptions,
  type DropOptions,
  type DropSummary,
  type Durability,
  type Duration,
  type EndOptions,
  type EnqueueOptions,
  type Explanation,
  type Holdable,
  type HoldOptions,
  type HoldSummary,
  type JobPage,
  type JobView,
  type Limitable,
  type LimitView,
  type ListOptions,
  type LogOptions,
  type LogPage,
  type PurgeOptions,
  type PurgeSummary,
  type Queue,
  type QueueExplanation,
  type QueueLimitOptions,
  type ReleaseSummary,
  type SpaceView,
  toMs,
  type WatchOptions,
  type WorkerCommand,
  type WorkerView,
} from '../../index.ts'
import type { InputOf, Me, OutputOf, revived, ServerClient } from '../../server.ts'
import type { Counterpart, Sent } from '../connect/backend.ts'
import { CliError, EXIT, usage } from '../exit.ts'
import { ask, askOrNull, type Line } from './ask.ts'
import { changeThere, queryOf } from './changes.ts'
import { drainThere } from './drain.ts'
import { RemoteErrors } from './errors.ts'
import { RemoteRuns } from './runs.ts'
import { RemoteSchedules } from './schedules.ts'
import { emptyQueue, holdTarget, iso, limitTarget, nameOf, queueView, workerView } from './shapes.ts'
import { resultThere, watchThere } from './watch.ts'

export interface RemoteOptions {
  readonly client: ServerClient
  /** Of `skep/server`, which is loaded only when a server is asked. */
  readonly revive: typeof revived
  readonly space: string | undefined
}

/** A server in the place of a Skep: every method is an operation of its API. */
export class Remote implements Counterpart {
  readonly errors: RemoteErrors
  readonly runs: RemoteRuns
  readonly schedules: RemoteSchedules
  readonly #line: Line
  #space: string
  #me: Me | null = null

  constructor({ client, revive, space = 'default' }: RemoteOptions) {
    this.#line = { client, revive }
    this.#space = space
    this.errors = new RemoteErrors(this.#line)
    this.runs = new RemoteRuns(this.#line)
    this.schedules = new RemoteSchedules(this.#line)
  }

  get space(): string {
    return this.#space
  }

  /** Asks who we are, which also tells whether the server is there. */
  async ready(): Promise<Durability> {
    try {
      this.#me = await this.#line.client.call('me.get')
      this.#space = this.#me.space
    } catch (error) {
      // A token that may only enqueue may not even ask that.
      if ((error as { readonly code?: unknown }).code !== 'FORBIDDEN') throw error
    }
    return { level: 'disk', detail: '', warnings: [] }
  }

  async migrate(): Promise<never> {
    throw usage('A server does not migrate its database.', 'Where the database is: skep migrate --db <url>')
  }

  async close(): Promise<void> {}

  async enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent> {
    const { delay, runAt, ...rest } = options
    const { id, duplicate } = await this.#line.client.call('jobs.enqueue', {
      ...(rest as Partial<InputOf<'jobs.enqueue'>>),
      queue: queue.name,
      payload,
      ...(delay === undefined ? {} : { delay: String(delay) }),
      ...(runAt === undefined ? {} : { runAt: new Date(runAt).toISOString() }),
    })
    return {
      id,
      duplicate,
      result: ({ timeout }) => {
        if (this.#me?.payloads === false) throw hidden()
        return resultThere(this.#line, id, timeout)
      },
    }
  }

  readonly jobs: Counterpart['jobs'] = {
    get: async (id) => {
      const found = await askOrNull<{ readonly job: JobView }, 'jobs.get'>(this.#line, 'jobs.get', { id })
      return found?.job ?? null
    },
    list: ({ limit, cursor, ...which }: ListOptions = {}) =>
      ask<JobPage, 'jobs.list'>(this.#line, 'jobs.list', {
        query: queryOf(which),
        ...(limit === undefined ? {} : { limit }),
        ...(cursor === undefined ? {} : { cursor }),
      }),
    count: (query) => this.#line.client.call('jobs.count', { query }),
    logs: (id, options: LogOptions = {}) =>
      ask<LogPage, 'jobs.logs'>(this.#line, 'jobs.logs', { id, ...options }),
    watch: (id, options: WatchOptions = {}) => watchThere(this.#line, id, options),
    explain: (id) => ask<Explanation, 'jobs.explain'>(this.#line, 'jobs.explain', { id }),
    copy: (id, { queue, payload }) =>
      this.#line.client.call('jobs.copy', {
        id,
        ...(queue === undefined ? {} : { queue: nameOf(queue) }),
        ...(payload === undefined ? {} : { payload }),
      }),
    cancel: (target, options: EndOptions = {}) =>
      changeThere(this.#line, { action: 'cancel', ...reasonOf(options) }, target),
    bury: (target, options: EndOptions = {}) =>
      changeThere(this.#line, { action: 'bury', ...reasonOf(options) }, target),
    retry: (target) => changeThere(this.#line, { action: 'retry' }, target),
    promote: (target) => changeThere(this.#line, { action: 'promote' }, target),
    remove: (target) => changeThere(this.#line, { action: 'remove' }, target),
    reschedule: (target, when) => changeThere(this.#line, { action: 'reschedule', at: isoOf(when) }, target),
    // The server knows how each queue counts priorities.
    prioritize: (target, priority) => changeThere(this.#line, { action: 'prioritize', priority }, target),
  }

  readonly queues: Counterpart['queues'] = {
    list: async (queues) => {
      const { queues: all } = await ask<
        { readonly queues: OutputOf<'queues.list'>['queues'] },
        'queues.list'
      >(this.#line, 'queues.list', {})
      if (queues === undefined) return all.map(queueView)
      return queues.map(nameOf).map((name) => {
        const found = all.find(({ queue }) => queue === name)
        return found === undefined ? emptyQueue(name) : queueView(found)
      })
    },
    explain: async (queue) => {
      const { explanation } = await ask<{ readonly explanation: QueueExplanation }, 'queues.get'>(
        this.#line,
        'queues.get',
        { queue: nameOf(queue) },
      )
      return explanation
    },
    pause: (target, options: HoldOptions = {}) =>
      ask<HoldSummary, 'holds.pause'>(this.#line, 'holds.pause', holdInput(target, options)),
    resume: (target) => ask<ReleaseSummary, 'holds.resume'>(this.#line, 'holds.resume', holdTarget(target)),
    block: (target, options: HoldOptions = {}) =>
      ask<HoldSummary, 'holds.block'>(this.#line, 'holds.block', holdInput(target, options)),
    unblock: (target) =>
      ask<ReleaseSummary, 'holds.unblock'>(this.#line, 'holds.unblock', holdTarget(target)),
    holds: async () => (await ask<HoldSummary, 'holds.list'>(this.#line, 'holds.list', {})).holds,
    drain: (queue, options: DrainOptions = {}) => drainThere(this, nameOf(queue), options),
    purge: async (queue, options: PurgeOptions = {}) => {
      const { state, text, after, before, dryRun = false } = options
      const name = nameOf(queue)
      const { running, counts } = await this.#line.client.call('queues.purge', {
        queue: name,
        ...(state === undefined ? {} : { states: typeof state === 'string' ? [state] : state }),
        ...(text === undefined ? {} : { text }),
        ...iso({ after, before }),
        dryRun,
        confirm: name,
      })
      const states = counts as PurgeSummary['states']
      const jobs = Object.values(states).reduce((sum, one) => sum + one, 0)
      return { queue: name, dryRun, jobs, states, running }
    },
    drop: async (queue, options: DropOptions = {}) => {
      const name = nameOf(queue)
      const summary = await this.#line.client.call('queues.drop', { queue: name, ...options, confirm: name })
      return { ...summary, states: summary.states as DropSummary['states'] }
    },
  }

  readonly limits: Counterpart['limits'] = {
    list: async (queue) => {
      const input = queue === undefined ? {} : { queue: nameOf(queue) }
      const { limits } = await ask<{ readonly limits: readonly LimitView[] }, 'limits.list'>(
        this.#line,
        'limits.list',
        input,
      )
      return limits
    },
    set: (target: Limitable, limits: QueueLimitOptions) =>
      ask<LimitView, 'queues.limit'>(this.#line, 'queues.limit', { ...limitTarget(target), limits }),
    reset: (target) => ask<LimitView, 'queues.unlimit'>(this.#line, 'queues.unlimit', limitTarget(target)),
  }

  async spaces(): Promise<readonly SpaceView[]> {
    return (await this.#line.client.call('spaces.list')).spaces
  }

  readonly workers: Counterpart['workers'] = {
    list: async () => {
      const { workers } = await this.#line.client.call('workers.list')
      return workers.map((worker) => workerView(worker, this.space))
    },
    pause: (id) => this.#command(id, 'pause'),
    resume: (id) => this.#command(id, 'resume'),
    stop: (id) => this.#command(id, 'stop'),
  }

  async #command(id: string, command: WorkerCommand): Promise<WorkerView> {
    return workerView(await this.#line.client.call('workers.command', { id, command }), this.space)
  }

  readonly notifier: Counterpart['notifier'] = {
    deadNotices: async (options: DeadNoticeOptions = {}) => {
      const { hasNotices, ...page } = await ask<
        DeadNoticeViewPage & { readonly hasNotices: boolean },
        'deadNotices.list'
      >(this.#line, 'deadNotices.list', options)
      if (hasNotices) return page
      throw usage(
        'The notifier of this server has no notices: only natsNotifier() has.',
        'Dead jobs: skep dead list',
      )
    },
  }

  readonly bulk: Counterpart['bulk'] = {
    start: ({ by: _by, priorityMode: _mode, when, delay, ...options }) =>
      ask(this.#line, 'bulk.start', {
        ...options,
        ...(when === undefined ? {} : { at: isoOf(when) }),
        ...(delay === undefined ? {} : { delay: String(delay) }),
      }),
    get: (id) => askOrNull(this.#line, 'bulk.get', { id }),
    list: async () => {
      const { bulks } = await ask<
        { readonly bulks: Awaited<ReturnType<Counterpart['bulk']['list']>> },
        'bulk.list'
      >(this.#line, 'bulk.list', {})
      return bulks
    },
    stop: (id) => askOrNull(this.#line, 'bulk.stop', { id }),
    // The server works it off.
    serve: () => ({ stop: async () => {} }),
  }
}

function holdInput(target: Holdable, options: HoldOptions): InputOf<'holds.pause'> {
  const { reason, for: time, wait, timeout } = options
  return {
    ...holdTarget(target),
    ...(reason === undefined ? {} : { reason }),
    ...(time === undefined ? {} : { for: String(time) }),
    ...(wait === undefined ? {} : { wait }),
    ...(timeout === undefined ? {} : { timeout: String(timeout) }),
  }
}

function reasonOf({ reason }: { readonly reason?: string }): { readonly reason?: string } {
  return reason === undefined ? {} : { reason }
}

function hidden(): CliError {
  return new CliError('FORBIDDEN', 'This token may not see results, so there is none to wait for.', {
    exitCode: EXIT.failure,
    fix: 'Use one that was made with --payloads, or leave out --wait.',
  })
}

/** A moment as it is sent. */
function isoOf(when: Date | { readonly delay: Duration }): string {
  return (when instanceof Date ? when : new Date(Date.now() + toMs('delay', when.delay))).toISOString()
}
