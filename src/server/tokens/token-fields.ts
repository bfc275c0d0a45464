import {
  assertName,
  assertPattern,
  type Duration,
  EVERY_SPACE,
  SkepError,
  showValue,
  toMs,
} from '../../index.ts'
import { SCOPES, type Scope } from '../../operations/schema/wire-types.ts'

/** What a token is given, before it is checked. */
export interface TokenFields {
  /** How its holder is called in the audit. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The space that it acts in; `'*'`: any, named with the header `skep-space`. @default 'default' */
  readonly space?: string
  /** Patterns of the queues that it may see and touch, in which `*` stands for anything. @default ['*'] */
  readonly queues?: readonly string[]
  /** Whether payloads, results and logs are shown to it. @default only if it is an admin's */
  readonly payloads?: boolean
  /** How long it is good for. @default until it is revoked */
  readonly expires?: Duration
}

/** A token's fields, checked and complete. */
export interface ResolvedFields {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly space: string
  readonly queues: readonly string[]
  readonly payloads: boolean
  readonly expiresMs: number | null
}

const PATTERNS_AT_MOST = 100

/** Checks what a token is to be given. Throws `OPTION_INVALID`, `NAME_INVALID` or `DURATION_INVALID`. */
export function resolveFields(fields: TokenFields): ResolvedFields {
  const { name, scopes, space = 'default', queues = ['*'], expires } = fields
  if (typeof name !== 'string' || !/^[\p{L}\p{N}][\p{L}\p{N} _.@:/+-]{0,99}$/u.test(name)) {
    throw invalid(
      `The name ${showValue(name)} does not fit a token. Use up to 100 letters, digits, spaces or "_ . @ : / + -".`,
    )
  }
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope)) {
    throw invalid(`A token needs scopes, of ${SCOPES.join(', ')}; got ${showValue(scopes)}.`)
  }
  if (space !== EVERY_SPACE) assertName('Space', space)
  if (!Array.isArray(queues) || queues.length === 0 || queues.length > PATTERNS_AT_MOST) {
    throw invalid(`queues takes 1 to ${PATTERNS_AT_MOST} names or patterns of queues.`)
  }
  for (const pattern of queues) assertPattern('Queue', pattern)
  if (fields.payloads !== undefined && typeof fields.payloads !== 'boolean') {
    throw invalid(`payloads is true or false; got ${showValue(fields.payloads)}.`)
  }
  const expiresMs = expires === undefined ? null : toMs('expires', expires)
  if (expiresMs === 0)
    throw invalid('A token that expires at once is of no use. Leave expires out, or make it longer.')
  return {
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    space,
    queues: [...new Set(queues)],
    payloads: fields.payloads ?? scopes.includes('admin'),
    expiresMs,
  }
}

export function isScope(value: unknown): value is Scope {
  return SCOPES.includes(value as Scope)
}

function invalid(message: string): SkepError {
  return new SkepError('OPTION_INVALID', message)
}
