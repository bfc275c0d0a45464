import { SkepError } from '../index.ts'
import { CliError, EXIT } from './exit.ts'
import { clean, safeJson } from './format/text.ts'
import type { Output } from './output.ts'

/** An error in the parts in which it is shown. */
export interface Report {
  readonly code: string
  readonly message: string
  /** What was dialled, without its password. */
  readonly dialled?: string
  /** What the system or the driver said. */
  readonly why?: string
  /** What to do. */
  readonly fix?: string
  readonly exitCode: number
}

const USAGE =
  /^(CONFIG_INVALID|SERVER_UNPROTECTED|QUEUE_DUPLICATE|SCHEDULE_INVALID|(BATCH|DURATION|HEADERS|KEY|NAME|OPTION|PAYLOAD|QUERY)_)/
const ABOUT_THE_STORE = /^(STORE|SCHEMA|CLIENT)_/
const ABOUT_ACCESS = /^(UNAUTHENTICATED|FORBIDDEN)$/

/** Anything that was thrown, in parts. `dialled` is what the command tried to reach. */
export function explain(thrown: unknown, dialled?: string): Report {
  if (thrown instanceof CliError) {
    const { code, message, exitCode, fix } = thrown
    const why = 'cause' in thrown ? whyOf(thrown.cause) : undefined
    return { code, message, exitCode, ...optional({ why, fix }) }
  }
  const code = codeOf(thrown)
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (code === undefined) {
    return {
      code: 'UNEXPECTED',
      message: message || 'Something failed without a message.',
      exitCode: EXIT.failure,
    }
  }
  const cause = rootOf(thrown)
  const why = cause === thrown ? undefined : whyOf(cause)
  return {
    code,
    message,
    exitCode: exitOf(code),
    ...optional({
      dialled: ABOUT_THE_STORE.test(code) || ABOUT_ACCESS.test(code) ? dialled : undefined,
      why: why !== undefined && message.includes(why) ? undefined : why,
      fix: message.includes('skep migrate') ? undefined : fixOf(code, cause, isServer(dialled)),
    }),
  }
}

function exitOf(code: string): number {
  if (USAGE.test(code)) return EXIT.usage
  if (['NOT_FOUND', 'JOB_NOT_FOUND', 'SCHEDULE_NOT_FOUND'].includes(code)) return EXIT.notFound
  return code.startsWith('SCHEDULE_') ? EXIT.conflict : EXIT.failure
}

/** Whether a retry may succeed. */
export function isAway({ code }: Report): boolean {
  return code === 'STORE_UNAVAILABLE' || code === 'STORE_UNKNOWN'
}

/** Whether the store needs a migration, which may run at any time. */
export function isUnmigrated({ code }: Report): boolean {
  return code === 'SCHEMA_MISSING' || code === 'SCHEMA_OUTDATED'
}

/** Shows it on stderr: for people in lines, for programs as one object. */
export function complain(report: Report, out: Output): void {
  const { code, message, dialled, why, fix } = report
  if (out.json) {
    out.complain(safeJson({ error: maskAll(report, out.mask) }))
    return
  }
  const paint = out.paintNote
  const part = (name: string, text: string | undefined): string =>
    text === undefined ? '' : `\n  ${paint('dim', name.padEnd(8))} ${clean(text)}`
  out.complain(
    `${paint(['red', 'bold'], 'error')} ${paint('bold', code)}: ${clean(message)}` +
      part('dialled', dialled) +
      part('why', why) +
      part('to do', fix),
  )
}

/** The first sentence of an error, for a line in a list. */
export function briefly(thrown: unknown): string {
  const root = rootOf(thrown)
  return clean(whyOf(root) ?? (thrown instanceof Error ? thrown.message : String(thrown)))
}

/** By code and not by class: a config may have loaded Skep a second time. */
function codeOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null)?.code
  const isOurs =
    thrown instanceof SkepError ||
    (thrown instanceof Error && /^(Skep|Store|LeaseLost)Error$/.test(thrown.name))
  return isOurs && typeof code === 'string' ? code : undefined
}

function rootOf(thrown: unknown): unknown {
  let root = thrown
  for (let depth = 0; depth < 10; depth++) {
    const { cause, errors } = (root ?? {}) as { cause?: unknown; errors?: unknown }
    // Connecting tries every address of a host, and fails with a list that has no message of its own.
    const next = cause ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined)
    if (next === undefined || next === null) break
    root = next
  }
  return root
}

function whyOf(cause: unknown): string | undefined {
  if (cause === undefined || cause === null) return undefined
  const { message, code } = cause as { message?: unknown; code?: unknown }
  const text = [message, code, cause].find((one) => typeof one === 'string' && one !== '') as
    | string
    | undefined
  return text === undefined ? undefined : clean(text)
}

const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start the server, or correct the host and port in --db.',
  ENOTFOUND: 'There is no such host. Correct the host in --db.',
  EAI_AGAIN: 'The host name could not be looked up. Check the network and the host in --db.',
  ETIMEDOUT: 'The server does not answer. Check the host and port in --db, and the firewall between.',
  ECONNRESET: 'The server closed the connection. Look into its log.',
  '28P01': 'The server refuses this user and password. Correct them in --db.',
  '28000': 'The server refuses this user. Correct it in --db, or look into pg_hba.conf.',
  '3D000': 'There is no such database on this server. Create it (createdb), or correct the name in --db.',
  '42501': 'This user may not do that. Grant it the right, or run `skep migrate` as the owner.',
  '53300': 'The server has no connection left. Raise max_connections, or use fewer workers.',
  NOAUTH: 'The server wants a password. Put user and password into --db, before the host.',
  WRONGPASS: 'The server refuses this user and password. Correct them in --db.',
  NOPERM: 'This user may not do that. Give it the right: ACL SETUSER.',
  EACCES: 'No permission. Choose a file you may write with --db <file>.',
  EROFS: 'The disk is read-only. Choose another file with --db <file>.',
  ENOSPC: 'The disk is full.',
  SQLITE_CANTOPEN: 'The file cannot be opened. Check that its folder exists and that you may write there.',
  SQLITE_NOTADB: 'This file is no SQLite database. Name another with --db <file>.',
  SQLITE_READONLY: 'The file cannot be written. Check its permissions, or name another with --db <file>.',
}

function isServer(dialled: string | undefined): boolean {
  return /^https?:/.test(dialled ?? '')
}

function fixOf(code: string, cause: unknown, atServer: boolean): string | undefined {
  if (atServer && code === 'UNAUTHENTICATED')
    return 'Give a token of this server: --token-file <path>, or SKEP_TOKEN. One is made by: skep tokens create'
  if (atServer && code === 'FORBIDDEN') return 'Use a token with that scope: skep tokens create --scopes …'
  if (code === 'SCHEMA_MISSING' || code === 'SCHEMA_OUTDATED') return 'Run: skep migrate up'
  if (code === 'SCHEMA_TOO_NEW') return 'Update the package skep: the database was migrated by a newer one.'
  if (code === 'STORE_UNSAFE')
    return 'To accept it, make the store in skep.config.ts; --db accepts nothing unsafe.'
  if (!ABOUT_THE_STORE.test(code)) return undefined
  const { code: causeCode, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  // Errors of Redis have no code: their message starts with one.
  const known = typeof causeCode === 'string' ? causeCode : /^[A-Z]+\b/.exec(String(message))?.[0]
  const fix = known === undefined ? undefined : FIXES[known]
  return atServer ? fix?.replaceAll('--db', '--url') : fix
}

function optional<Parts extends Record<string, string | undefined>>(
  parts: Parts,
): { [Name in keyof Parts]?: string } {
  return Object.fromEntries(Object.entries(parts).filter(([, text]) => text !== undefined)) as {
    [Name in keyof Parts]?: string
  }
}

function maskAll(report: Report, mask: (text: string) => string): object {
  return Object.fromEntries(
    Object.entries(report).map(([name, value]) => [name, typeof value === 'string' ? mask(value) : value]),
  )
}
