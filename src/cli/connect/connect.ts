import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ServerClient } from '../../server.ts'
import { personOf } from '../change/actor.ts'
import type { Call } from '../command.ts'
import { usage } from '../exit.ts'
import { briefly } from '../explain-error.ts'
import { masker, maskUrl } from '../format/mask.ts'
import { clean, quote } from '../format/text.ts'
import type { Backend } from './backend.ts'
import { type Opened, type OpenOptions, open } from './open.ts'

/** What a command works with: a store or a server. */
export interface Reached extends Pick<Opened, 'place' | 'config' | 'handlers' | 'flows' | 'close'> {
  readonly backend: Backend
  /** Null if a server is used. */
  readonly opened: Opened | null
  /** Null if a store is used. */
  readonly server: ServerClient | null
}

export interface ReachOptions extends OpenOptions {
  /** The command itself reports a server that is not available, and retries. */
  readonly isPatient?: boolean
  /** The default address, for commands that need a server. */
  readonly url?: string
}

/** Connects to the server of --url or opens the store, does the work, and closes. */
export async function reaching<Answer>(
  call: Call,
  options: ReachOptions,
  work: (reached: Reached) => Promise<Answer>,
): Promise<Answer> {
  const reached = await reach(call, options)
  try {
    return await work(reached)
  } finally {
    await reached.close()
  }
}

export async function reach(call: Call, options: ReachOptions): Promise<Reached> {
  const url = urlOf(call, options.url)
  if (url === undefined) {
    const [opened, { LocalBackend }] = await Promise.all([open(call, options), import('./local.ts')])
    const by = personOf(call.args) ?? 'cli'
    const backend = new LocalBackend(opened.skep, { by, place: opened.place.label })
    return { ...opened, backend, opened, server: null }
  }
  const { args, out } = call
  for (const [flag, why] of Object.entries(NOT_THERE)) {
    if (args.typed(flag)) throw usage(`--${flag} does not go with --url: ${why}`)
  }
  const token = tokenOf(call)
  const label = clean(maskUrl(url))
  out.mask = masker(token ?? url)
  out.dialled = label
  if (token !== undefined && isReadable(url)) {
    out.warn(`The token is sent to ${label} unencrypted. Use https:// on shared networks.`)
  }
  const [{ ServerClient: Client }, { RemoteBackend }] = await Promise.all([
    import('../../server.ts'),
    import('../remote/remote.ts'),
  ])
  const space = args.text('space')
  const server = new Client({
    url,
    ...(token === undefined ? {} : { token }),
    ...(space === undefined ? {} : { space }),
  })
  const backend = new RemoteBackend(server, space)
  if (options.isPatient !== true) await backend.ready()
  const place = { kind: 'server', label, address: url, within: undefined } as const
  return {
    backend,
    opened: null,
    server,
    place,
    config: null,
    handlers: [],
    flows: [],
    close: async () => {},
  }
}

/** Flags that need the store, and why. */
const NOT_THERE: Readonly<Record<string, string>> = {
  db: 'use one of them.',
  schema: 'the server has its own database.',
  prefix: 'the server has its own database.',
  config: 'the server has its own.',
  by: 'the token identifies the caller.',
  'priority-mode': 'the server knows the mode of its queues.',
}

/** The address of a server, if one is selected. Flags take precedence over variables. */
function urlOf({ args }: Call, nearest: string | undefined): string | undefined {
  const url = args.text('url')
  if (nearest !== undefined) return checked(url ?? nearest)
  if (url === undefined || args.typed('url')) return checked(url)
  if (args.typed('db') || args.typed('config')) return undefined
  if (args.text('db') === undefined) return checked(url)
  throw usage('SKEP_URL and SKEP_DB are both set.', 'Type --url or --db.')
}

function checked(url: string | undefined): string | undefined {
  if (url === undefined || (URL.canParse(url) && /^https?:\/\//i.test(url))) return url
  throw usage(
    `--url is ${quote(maskUrl(url))}; use the address of a server: https://jobs.example.com`,
    'A database is named with --db.',
  )
}

/** The token of --token or --token-file, or of their variables. */
function tokenOf({ args, cwd }: Call): string | undefined {
  if (args.typed('token') && args.typed('token-file')) {
    throw usage('--token and --token-file do not go together.')
  }
  const file = args.typed('token') ? undefined : args.text('token-file')
  if (file === undefined) return args.text('token')
  try {
    return readFileSync(resolve(cwd, file), 'utf8').trim()
  } catch (cause) {
    throw usage(`The token cannot be read from ${quote(file)}: ${briefly(cause)}`)
  }
}

/** Whether the connection is unencrypted and leaves this machine. */
function isReadable(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
