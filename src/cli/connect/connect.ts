import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ServerClient } from '../../server.ts'
import type { Call } from '../command.ts'
import { usage } from '../exit.ts'
import { briefly } from '../explain-error.ts'
import { masker, maskUrl } from '../format/mask.ts'
import { clean, quote } from '../format/text.ts'
import type { Counterpart } from './backend.ts'
import { type Opened, type OpenOptions, open } from './open.ts'

/** What a command works with that does not mind whether it is a store or a server. */
export interface Reached extends Pick<Opened, 'place' | 'config' | 'handlers' | 'flows' | 'close'> {
  readonly skep: Counterpart
  /** Either the one or the other. */
  readonly opened: Opened | null
  readonly server: ServerClient | null
}

export interface ReachOptions extends OpenOptions {
  /** The command itself says when a server does not answer, and goes on trying. */
  readonly isPatient?: boolean
  /** Where to ask if nobody says it, for what only a server knows. */
  readonly url?: string
}

/** Reaches the server of --url, or else opens the store; does the work, and closes whatever happens. */
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
    const opened = await open(call, options)
    return { ...opened, opened, server: null }
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
    out.warn(`The token goes to ${label} in clear. Use https:// where others share the network.`)
  }
  const [{ ServerClient: Client, revived }, { Remote }] = await Promise.all([
    import('../../server.ts'),
    import('../remote/remote.ts'),
  ])
  const space = args.text('space')
  const server = new Client({
    url,
    ...(token === undefined ? {} : { token }),
    ...(space === undefined ? {} : { space }),
  })
  const skep = new Remote({ client: server, revive: revived, space })
  if (options.isPatient !== true) await skep.ready()
  const place = { kind: 'server', label, address: url, within: undefined } as const
  const close = (): Promise<void> => skep.close().catch(() => {})
  return { skep, opened: null, server, place, config: null, handlers: [], flows: [], close }
}

/** What only somebody can say who has the store, and why. */
const NOT_THERE: Readonly<Record<string, string>> = {
  db: 'it is one or the other.',
  schema: 'the server has its own database.',
  prefix: 'the server has its own database.',
  config: 'the server has its own.',
  by: 'the server knows who asks by the token.',
  'priority-mode': 'the server knows how its queues count.',
}

/** The address of a server, if one is meant. What is typed wins over what the environment says. */
function urlOf({ args }: Call, nearest: string | undefined): string | undefined {
  const url = args.text('url')
  if (nearest !== undefined) return checked(url ?? nearest)
  if (url === undefined || args.typed('url')) return checked(url)
  if (args.typed('db') || args.typed('config')) return undefined
  if (args.text('db') === undefined) return checked(url)
  throw usage('SKEP_URL and SKEP_DB are both set, so it is not clear which is meant.', 'Type --url or --db.')
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

/** Whether others on the way can read along. */
function isReadable(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
