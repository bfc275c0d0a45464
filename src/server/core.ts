import { setMaxListeners } from 'node:events'
import {
  consoleLogger,
  harmlessLogger,
  type LagWatch,
  type Logger,
  type Runtime,
  type Skep,
  SkepError,
  systemRuntime,
} from '../index.ts'
import { Cards } from '../operations/authorize/declarations.ts'
import type { Guard } from '../operations/authorize/guard.ts'
import { type Callable, callOperation } from '../operations/call.ts'
import type { Caller, Context } from '../operations/operation.ts'
import { summariesOf } from '../operations/queues/queues.ts'
import { SharedBudget } from '../operations/redaction/budget.ts'
import { type OperationName, SCOPES } from '../operations/schema/wire-types.ts'
import type { Services } from '../operations/services.ts'
import { Lookback } from '../operations/system/metrics-window.ts'
import { attentionIn } from '../operations/system/overview.ts'
import { operationNamed } from '../operations/table.ts'
import { Turns } from '../operations/turns.ts'
import { Access } from './access/access.ts'
import { resolveHooks } from './alerts/options.ts'
import { AlertWatch } from './alerts/watch.ts'
import { documentsOf } from './http/documents.ts'
import { Events } from './http/event-stream.ts'
import { areasOfOperation } from './http/events.ts'
import { Files } from './http/files.ts'
import { type Handle, httpHandler } from './http/handler.ts'
import { Health } from './http/health.ts'
import type { RawRoute } from './http/route.ts'
import { resolveServerOptions, type ServerOptions } from './options.ts'
import { packageVersion } from './package-folder.ts'
import { receiverRoutes } from './receivers/http.ts'
import { ReceiverHub } from './receivers/receiver-registry.ts'
import { Spaces } from './spaces.ts'

/** What every server has, whoever takes its requests: the operations, who may use them, and the answer to a request. */
export class ServerCore implements Callable {
  readonly guard: Guard
  readonly services: Services
  readonly hub: ReceiverHub
  readonly handle: Handle
  readonly runtime: Runtime
  readonly logger: Logger
  readonly events: Events
  /** Aborted when the server closes: streams end. */
  readonly closing: AbortController = new AbortController()
  /** Connections, as whoever has them tells. */
  connections: () => number = () => 0
  readonly #access: Access
  readonly #spaces: Spaces
  readonly #alerts: AlertWatch
  readonly #lag: LagWatch | null
  readonly #startedAt: number
  readonly #endHints: () => void

  constructor(skep: Skep, options: ServerOptions) {
    const resolved = resolveServerOptions(options)
    this.runtime = options.runtime ?? systemRuntime()
    this.logger = harmlessLogger(options.logger ?? consoleLogger)
    this.#startedAt = this.runtime.mono()
    // Every stream listens to it, and Node takes more than ten listeners for a leak.
    setMaxListeners(0, this.closing.signal)
    this.#lag = this.runtime.watchLag?.() ?? null
    this.#spaces = new Spaces(skep)
    // So that the notifier is connected before somebody asks how it is.
    this.#endHints = skep.notifier.onHint(() => {})
    const { runtime, logger } = this
    this.#access = new Access({ records: skep.records, runtime, logger, space: skep.space }, options)
    this.guard = options.guard ?? this.#access
    this.hub = new ReceiverHub({
      ...options.receivers,
      skepOf: (space) => this.skepFor(space),
      inFlight: (space) => this.#access.quotas.inFlight(space),
      assertReceiver: (space, connected) => this.#access.quotas.assertReceiver(space, connected),
      runtime,
      logger,
    })
    const hooks = resolveHooks(options.alerts ?? [], skep.space)
    this.#alerts = new AlertWatch(
      {
        records: skep.records,
        runtime,
        logger,
        environment: resolved.environment,
        look: (space) => attentionIn(this.#contextOf(this.skepFor(space))),
      },
      hooks,
    )
    this.services = this.#makeServices(options)
    const report = (error: unknown): void => logger.error('A request failed in an unexpected way.', { error })
    this.events = new Events({
      runtime,
      closing: this.closing.signal,
      most: resolved.streams,
      redactor: this.services.redactor,
      redactionBudget: this.services.redactionBudget,
      skepFor: (space) => this.skepFor(space),
      summaries: (one) => summariesOf(this.#contextOf(one)),
      report: (error) => logger.warn('The store could not be looked at for a stream of events.', { error }),
    })
    this.handle = httpHandler({
      guard: this.guard,
      services: this.services,
      skepFor: (space) => this.skepFor(space),
      onChange: (space, name) => this.onChange(space, name),
      bodyBytes: resolved.bodyBytes,
      health: new Health(skep, runtime, this.closing.signal),
      events: this.events,
      files: resolved.dashboard === null ? null : new Files(resolved.dashboard),
      routes: this.routes(),
      documents: documentsOf(this.routes()),
      report,
    })
  }

  /** The Skep of a space. It belongs to the server. */
  skepFor(space: string): Skep {
    return this.#spaces.for(space)
  }

  onChange(space: string, name: OperationName): void {
    this.events.touch(space, areasOfOperation(name))
  }

  /** Reads the input of an operation, asks the guard, does it and writes it down: for whoever speaks no HTTP. */
  dispatch(name: string, input: unknown, caller: Caller, signal: AbortSignal = NEVER): Promise<unknown> {
    const operation = operationNamed(name)
    if (operation === null) throw new SkepError('NOT_FOUND', `There is no operation "${name.slice(0, 64)}".`)
    return callOperation(this, operation, input, { caller, signal })
  }

  /** Addresses that are no operations. */
  routes(): readonly RawRoute[] {
    return receiverRoutes(this.hub, this.runtime)
  }

  /** The server's own look at a space. */
  #contextOf(skep: Skep): Context {
    return { skep, caller: everybody(skep), services: this.services, signal: this.closing.signal }
  }

  #makeServices(options: ServerOptions): Services {
    const { environment, traceUrl, place } = resolveServerOptions(options)
    return {
      about: { version: packageVersion(), environment, traceUrl, place },
      runtime: this.runtime,
      process: {
        upMs: () => this.runtime.mono() - this.#startedAt,
        lagMs: () => this.#lag?.p99Ms() ?? 0,
        connections: () => this.connections(),
      },
      cards: new Cards(this.runtime),
      lookback: new Lookback(this.runtime),
      receivers: {
        list: (space) => this.hub.list(space),
        close: (space, id) => this.hub.disconnect(space, id),
      },
      tokens: this.#access.tokens,
      auditLog: this.#access.audited,
      redactor: this.#access.redactor,
      redactionBudget: new SharedBudget(),
      turns: new Turns(this.runtime),
      quotas: this.#access.quotas,
      alerts: this.#alerts,
    }
  }

  /** Ends streams, and closes what was opened here. */
  async close(): Promise<void> {
    this.closing.abort(new SkepError('CLOSED', 'This server is closed.'))
    await this.hub.close()
    await this.#alerts.close()
    await this.guard.close?.()
    this.#lag?.end()
    this.#endHints()
    await this.#spaces.close()
  }
}

const NEVER = new AbortController().signal

/** Who looks for all: what each sees of it is decided where it is sent. */
function everybody({ space }: Skep): Caller {
  return {
    name: 'server',
    scopes: new Set(SCOPES),
    space,
    spaces: null,
    queues: ['*'],
    payloads: false,
    address: null,
  }
}
