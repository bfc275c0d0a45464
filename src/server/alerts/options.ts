import { createHash } from 'node:crypto'
import { type Duration, SkepError, toMs } from '../../index.ts'
import { ATTENTION_KINDS } from '../../operations/schema/outputs.ts'
import type { Attention } from '../../operations/schema/wire-types.ts'
import { keyOf } from './message.ts'
import { assertPostable } from './post.ts'
import { Allowed } from './reach.ts'

/** A webhook for alerts. */
export interface AlertHook {
  /** The URL that messages are posted to. */
  readonly url: string
  /** `whsec_` and at least 24 bytes in base64. To rotate it, pass the new and the old one. */
  readonly secret: string | readonly string[]
  /** The kinds of issues to send. @default all kinds under "Needs attention" */
  readonly kinds?: readonly Attention['kind'][]
  /** The minimum level. @default 'warning' */
  readonly level?: Attention['level']
  /** How long an issue must last before it is sent, and be gone before it is resolved. @default '1m' */
  readonly after?: Duration
  /** How often an open alert is repeated. @default '4h' */
  readonly every?: Duration
  /** @default the space of the server */
  readonly spaces?: readonly string[]
  /**
   * Hosts, addresses and networks (`10.1.0.0/16`) that are allowed although they are not public. Hosts listed
   * here may also use plain http. @default none
   */
  readonly allow?: readonly string[]
  /** CA certificates in PEM format. @default the ones Node trusts */
  readonly ca?: string
}

export interface ResolvedHook {
  /** Derived from the URL, so it is the same in every process. */
  readonly id: string
  readonly url: URL
  readonly keys: readonly Buffer[]
  readonly kinds: ReadonlySet<Attention['kind']> | null
  readonly level: Attention['level']
  readonly afterMs: number
  readonly everyMs: number
  readonly spaces: readonly string[]
  readonly allowed: Allowed
  readonly ca: string | null
}

const LEAST_EVERY_MS = 60_000
const LEVELS: readonly unknown[] = ['warning', 'critical'] satisfies Attention['level'][]

/** Validates the hooks when the server starts. Throws `OPTION_INVALID`. */
export function resolveHooks(hooks: readonly AlertHook[], space: string): readonly ResolvedHook[] {
  const resolved = hooks.map((hook) => resolveHook(hook, space))
  const ids = new Set(resolved.map(({ id }) => id))
  if (ids.size === resolved.length) return resolved
  throw new SkepError('OPTION_INVALID', 'Two alert hooks have the same url. Merge them.')
}

function resolveHook(hook: AlertHook, space: string): ResolvedHook {
  const { secret, kinds, level = 'warning', after = '1m', every = '4h', spaces = [space], ca = null } = hook
  const url = URL.canParse(hook.url) ? new URL(hook.url) : null
  if (url === null) {
    throw new SkepError(
      'OPTION_INVALID',
      `"${String(hook.url).slice(0, 100)}" is not a valid URL for alerts.`,
    )
  }
  const allowed = new Allowed(hook.allow ?? [])
  assertPostable(url, allowed)
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (secrets.length === 0) throw new SkepError('OPTION_INVALID', 'An alert hook needs a secret.')
  assertKnown('level', [level], LEVELS)
  assertKnown('kinds', kinds ?? ATTENTION_KINDS, ATTENTION_KINDS)
  if (spaces.length === 0) throw new SkepError('OPTION_INVALID', 'alerts.spaces is empty: name one.')
  const everyMs = toMs('alerts.every', every)
  if (everyMs < LEAST_EVERY_MS) {
    throw new SkepError('OPTION_INVALID', 'alerts.every must be at least one minute.')
  }
  return {
    id: createHash('sha256').update(url.href).digest('hex').slice(0, 16),
    url,
    keys: secrets.map(keyOf),
    kinds: kinds === undefined ? null : new Set(kinds),
    level,
    afterMs: toMs('alerts.after', after),
    everyMs,
    spaces,
    allowed,
    ca,
  }
}

/** Rejects unknown values: a typo would silence the hook. */
function assertKnown(name: string, given: readonly unknown[], known: readonly unknown[]): void {
  const wrong = given.find((one) => !known.includes(one))
  if (given.length > 0 && wrong === undefined) return
  const what = given.length === 0 ? 'is empty' : `has ${JSON.stringify(wrong)}, which is unknown`
  throw new SkepError('OPTION_INVALID', `alerts.${name} ${what}. Possible: ${known.join(', ')}.`)
}
