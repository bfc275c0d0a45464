import { SkepError } from '../../../core/errors.ts'

/** The part of the class `pg.Client` that a client for several hosts is made of. */
export interface PgClientClass {
  new (options: object): PgHostClient
}

interface PgHostClient {
  host?: string
  port?: number
  connect(callback?: (error: unknown, client?: unknown) => void): unknown
  query(text: string): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  readonly connection?: { readonly stream?: { destroy?(): void } }
}

const SEVERAL_HOSTS = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*,[^/?]*)(.*)$/i
const WRITABLE = ['any', 'read-write', 'primary']
const ignore = (): void => {}

/** One address for each host of a URL with several hosts, as libpq writes them; null if it has one. */
export function addressesOf(url: string): string[] | null {
  const [, start, hosts, rest] = SEVERAL_HOSTS.exec(url) ?? []
  if (start === undefined || hosts === undefined || rest === undefined) return null
  const target = /[?&]target_session_attrs=([^&]*)/.exec(rest)?.[1] ?? 'read-write'
  if (!WRITABLE.includes(target)) {
    throw new SkepError(
      'OPTION_INVALID',
      `target_session_attrs is "${target}", but Skep writes. Use read-write, or leave it out.`,
      { facts: { target } },
    )
  }
  const others = rest.replace(/([?&])target_session_attrs=[^&]*(&|$)/, (_, before: string, after: string) =>
    after === '&' ? before : '',
  )
  return hosts.split(',').map((host) => `${start}${host}${others}`)
}

/**
 * A client that connects to the primary among several hosts. All are asked at the same time, because one that lost its
 * power or its network does not answer at all.
 */
export function clientForHosts(Client: PgClientClass, addresses: readonly string[]): PgClientClass {
  /** Connects to one host, to see whether it is the primary. */
  async function ask(address: string, options: object): Promise<{ host: string; port: number }> {
    const client = new Client({ ...options, connectionString: address })
    client.on('error', ignore)
    try {
      await client.connect()
      const { rows } = await client.query(
        `select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as is_read_only`,
      )
      if (rows[0]?.['is_read_only']) throw new Error(`${client.host}:${client.port} is read-only`)
      return { host: client.host as string, port: client.port as number }
    } finally {
      client.end().catch(ignore)
    }
  }

  return class extends Client {
    readonly #options: object

    constructor(options: object) {
      super({ ...options, connectionString: addresses[0] })
      this.#options = options
    }

    override connect(report?: (error: unknown, client?: unknown) => void): unknown {
      const connected = Promise.any(addresses.map((address) => ask(address, this.#options))).then(
        ({ host, port }) => {
          this.host = host
          this.port = port
          return super.connect()
        },
        (error: unknown) => {
          throw new Error(`None of ${addresses.length} hosts is a primary that answers: ${reasons(error)}`)
        },
      )
      if (!report) return connected
      connected.then(() => report(undefined, this), report)
      return undefined
    }
  }
}

function reasons(error: unknown): string {
  return error instanceof AggregateError
    ? error.errors.map((one: Error) => one.message).join('; ')
    : String(error)
}
