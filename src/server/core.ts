import { consoleLogger, type Logger, type Runtime, type Skep, SkepError, systemRuntime } from '../index.ts'
import type { Guard } from './access/guard-contract.ts'
import { openGuard } from './access/open-guard.ts'
import { Cards } from './cards.ts'
import { type Handle, httpHandler } from './http/handler.ts'
import { resolveServerOptions, type ServerOptions } from './options.ts'
import { packageVersion } from './package-folder.ts'
import type { Services } from './services.ts'
import { Spaces } from './spaces.ts'

/** What every server has, whoever takes its requests: the operations, who may use them, and the answer to a request. */
export class ServerCore {
  readonly guard: Guard
  readonly services: Services
  readonly spaces: Spaces
  readonly handle: Handle
  readonly runtime: Runtime
  readonly logger: Logger
  /** Ends what streams. */
  readonly closing: AbortController = new AbortController()
  readonly #startedAt: number
  /** Connections, as whoever has them tells. */
  connections: () => number = () => 0

  constructor(skep: Skep, options: ServerOptions) {
    const resolved = resolveServerOptions(options)
    this.runtime = options.runtime ?? systemRuntime()
    this.logger = options.logger ?? consoleLogger
    this.#startedAt = this.runtime.mono()
    this.spaces = new Spaces(skep)
    this.guard = options.guard ?? openGuard({ space: skep.space })
    this.services = {
      about: {
        version: packageVersion(),
        environment: resolved.environment,
        traceUrl: resolved.traceUrl,
        place: resolved.place,
      },
      runtime: this.runtime,
      process: {
        upMs: () => this.runtime.mono() - this.#startedAt,
        lagMs: () => 0,
        connections: () => this.connections(),
      },
      cards: new Cards(this.runtime),
      receivers: options.receivers ?? { list: async () => [], close: async () => false },
      tokens: options.tokens ?? {
        list: async () => [],
        create: async () => {
          throw new SkepError('FORBIDDEN', 'This server has no tokens: it is open to its own machine alone.')
        },
        revoke: async () => false,
      },
      auditLog: options.auditLog ?? { list: async () => ({ entries: [], cursor: null }) },
    }
    this.handle = httpHandler({
      guard: this.guard,
      services: this.services,
      skepFor: (space) => this.spaces.for(space),
      bodyBytes: resolved.bodyBytes,
      report: (error) => this.logger.error('A request failed in an unexpected way.', { error }),
    })
  }

  /** Ends streams, and closes what was opened here. */
  async close(): Promise<void> {
    this.closing.abort(new SkepError('CLOSED', 'This server is closed.'))
    await this.spaces.close()
    await this.guard.close?.()
  }
}
