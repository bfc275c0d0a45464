import { consoleLogger, type Logger, type Runtime, type Skep, SkepError, systemRuntime } from '../index.ts'
import { Access } from './access/access.ts'
import type { Guard } from './access/guard-contract.ts'
import { QuotaKeeper } from './access/quotas.ts'
import { redactor } from './access/redact.ts'
import { Cards } from './cards.ts'
import { type Handle, httpHandler } from './http/handler.ts'
import { resolveServerOptions, type ServerOptions } from './options.ts'
import { packageVersion } from './package-folder.ts'
import type { Services, TokenList } from './services.ts'
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
    const { runtime, logger } = this
    const access = options.guard
      ? null
      : new Access({ records: skep.records, runtime, logger, space: skep.space }, options)
    this.guard = options.guard ?? (access as Guard)
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
      tokens: access?.tokens ?? NO_TOKENS,
      auditLog: access?.audited ?? { list: async () => ({ entries: [], cursor: null }) },
      quotas: access?.quotas ?? new QuotaKeeper(undefined, this.runtime),
    }
    this.handle = httpHandler({
      guard: this.guard,
      services: this.services,
      skepFor: (space) => this.spaces.for(space),
      bodyBytes: resolved.bodyBytes,
      redactor: access?.redactor ?? redactor(),
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

/** With a guard of one's own there are no tokens of ours. */
const NO_TOKENS: TokenList = {
  list: async () => [],
  create: async () => {
    throw new SkepError('FORBIDDEN', 'This server has no tokens: something else decides about access.')
  },
  revoke: async () => false,
}
