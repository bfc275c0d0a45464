import { createHash } from 'node:crypto'
import { type Duration, SkepError, toMs } from '../../index.ts'
import { ATTENTION_KINDS } from '../../operations/schema/outputs.ts'
import type { Attention } from '../../operations/schema/wire-types.ts'
import { keyOf } from './message.ts'
import { assertPostable } from './post.ts'
import { Allowed } from './reach.ts'

/** Where to tell of what needs attention, and of what of it. */
export interface AlertHook {
  /** Where messages are posted to. */
  readonly url: string
  /** `whsec_` and the base64 of at least 24 bytes. While you change it, the new one and the old one. */
  readonly secret: string | readonly string[]
  /** Only these. @default all that the overview shows */
  readonly kinds?: readonly Attention['kind'][]
  /** `'critical'`: nothing less. @default 'warning' */
  readonly level?: Attention['level']
  /** How long it must last before it is told, and be gone before that is told. @default '1m' */
  readonly after?: Duration
  /** How often it is told again while it lasts. @default '4h' */
  readonly every?: Duration
  /** @default the space of the server */
  readonly spaces?: readonly string[]
  /**
   * Hosts, addresses and networks (`10.1.0.0/16`) that may be reached although they are not of the open internet. A host that is
   * named here may be reached by http as well. @default none
   */
  readonly allow?: readonly string[]
  /** Certificates of an authority of your own, as PEM. @default those that node trusts */
  readonly ca?: string
}

export interface ResolvedHook {
  /** The same for the same address, in every process. */
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

/** Throws `OPTION_INVALID` for what could not work, before the server starts. */
export function resolveHooks(hooks: readonly AlertHook[], space: string): readonly ResolvedHook[] {
  const resolved = hooks.map((hook) => resolveHook(hook, space))
  const ids = new Set(resolved.map(({ id }) => id))
  if (ids.size === resolved.length) return resolved
  throw new SkepError('OPTION_INVALID', 'Two hooks of alerts have the same url. Make one of them.')
}

function resolveHook(hook: AlertHook, space: string): ResolvedHook {
  const { secret, kinds, level = 'warning', after = '1m', every = '4h', spaces = [space], ca = null } = hook
  const url = URL.canParse(hook.url) ? new URL(hook.url) : null
  if (url === null) {
    throw new SkepError('OPTION_INVALID', `"${String(hook.url).slice(0, 100)}" is no address for alerts.`)
  }
  const allowed = new Allowed(hook.allow ?? [])
  assertPostable(url, allowed)
  const secrets = typeof secret === 'string' ? [secret] : secret
  if (secrets.length === 0) throw new SkepError('OPTION_INVALID', 'A hook of alerts needs a secret.')
  assertKnown('level', [level], LEVELS)
  assertKnown('kinds', kinds ?? ATTENTION_KINDS, ATTENTION_KINDS)
  if (spaces.length === 0) throw new SkepError('OPTION_INVALID', 'alerts.spaces is empty: name one.')
  const everyMs = toMs('alerts.every', every)
  if (everyMs < LEAST_EVERY_MS) {
    throw new SkepError('OPTION_INVALID', 'alerts.every is less than a minute: nobody would read that.')
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

/** A word that nobody knows would silence a hook for ever, and nobody would notice. */
function assertKnown(name: string, given: readonly unknown[], known: readonly unknown[]): void {
  const wrong = given.find((one) => !known.includes(one))
  if (given.length > 0 && wrong === undefined) return
  const what = given.length === 0 ? 'is empty' : `has ${JSON.stringify(wrong)}, which is unknown`
  throw new SkepError('OPTION_INVALID', `alerts.${name} ${what}. Possible: ${known.join(', ')}.`)
}
