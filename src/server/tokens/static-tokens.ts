/**
 * Tokens that do not come from the store: from the options of the server, or from the environment. They are good for as long as the
 * server runs with them, and nobody can revoke them but whoever starts it.
 */
import { readFileSync } from 'node:fs'
import { type Runtime, SkepError } from '../../index.ts'
import { SCOPES } from '../../operations/schema/wire-types.ts'
import { hashOf, isSecret } from './secret.ts'
import { type ResolvedFields, resolveFields, type TokenFields } from './token-fields.ts'

/** A token that is given to the server when it starts. */
export interface GivenToken extends TokenFields {
  /** Its text: at least 24 characters that nobody can guess. */
  readonly token?: string
  /** Instead of the text: its SHA-256 in hex, as `sha256sum` prints it. */
  readonly hash?: string
}

export interface ResolvedGiven extends Omit<ResolvedFields, 'expiresMs'> {
  readonly id: string
  readonly hash: string
  readonly expiresAt: number | null
}

const SHORTEST = 24

/** Checks them and keeps their hashes alone. */
export function resolveGiven(given: readonly GivenToken[], runtime: Runtime): readonly ResolvedGiven[] {
  return given.map((one) => {
    const { expiresMs, ...fields } = resolveFields(one)
    const hash = one.token === undefined ? one.hash?.toLowerCase() : hashOf(checkText(one.token, one.name))
    if (hash === undefined || !/^[0-9a-f]{64}$/.test(hash)) {
      throw new SkepError(
        'OPTION_INVALID',
        `The token "${fields.name}" needs its text as token, or the SHA-256 of that as hash: 64 digits of hex.`,
      )
    }
    return {
      ...fields,
      hash,
      id: hash.slice(0, 16),
      expiresAt: expiresMs === null ? null : runtime.now() + expiresMs,
    }
  })
}

/** The one that a text is. All are compared, so that the time tells nothing about which one it was. */
export function findGiven(given: readonly ResolvedGiven[], text: string, now: number): ResolvedGiven | null {
  let found: ResolvedGiven | null = null
  for (const one of given) if (isSecret(text, one.hash) && !isOver(one, now)) found = one
  return found
}

export function isOver({ expiresAt }: { readonly expiresAt: number | null }, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}

/**
 * The token of the environment: `SKEP_TOKEN`, or better `SKEP_TOKEN_FILE` with the path of a file that has it, so that it is not
 * seen by whoever may look at the process. It may do everything, in every space.
 */
export function tokenOfEnvironment(env: Readonly<Record<string, string | undefined>>): GivenToken | null {
  const file = env['SKEP_TOKEN_FILE']
  const text = file === undefined || file === '' ? env['SKEP_TOKEN'] : readSecret(file)
  if (text === undefined || text === '') return null
  return { name: 'environment', token: text, scopes: SCOPES, space: '*', payloads: true }
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new SkepError('CONFIG_INVALID', `SKEP_TOKEN_FILE names a file that cannot be read: ${file}.`, {
      cause,
    })
  }
}

function checkText(text: string, name: string): string {
  if (text.length >= SHORTEST && text.length <= 512 && /^[\x21-\x7e]+$/.test(text)) return text
  throw new SkepError(
    'OPTION_INVALID',
    `The text of the token "${name}" is not safe to use: ${SHORTEST} to 512 printable characters without spaces, that nobody ` +
      'can guess. "openssl rand -base64 32" makes one.',
  )
}
