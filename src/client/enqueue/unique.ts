import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { Unique, UniqueConflict } from '../../core/jobs/job.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertKey } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { assertWhole } from '../../worker/options.ts'

/** At most one job of a queue with this key at a time. */
export interface UniqueOptions {
  /** 1 to 512 bytes, compared byte by byte, within one queue. */
  readonly key: string
  /**
   * How long the key is held: `'queued'` until the job starts, `'active'` until it has ended, or for a span
   * of time from the enqueue, whatever becomes of the job (a throttle: at most one per span). @default 'active'
   */
  readonly scope?: 'queued' | 'active' | Duration
  /**
   * When the key is held: `ignore` the new job, `replace` the waiting one's payload and time, or
   * `postpone` it: new payload, and its delay starts again (a debounce). @default 'ignore'
   */
  readonly onConflict?: UniqueConflict
}

const KEYS = optionKeys<UniqueOptions>('unique', { key: true, scope: true, onConflict: true })

export function resolveUnique(unique: string | UniqueOptions | undefined): Unique | null {
  if (unique === undefined) return null
  if (typeof unique !== 'string') assertOptions(KEYS, unique)
  const {
    key,
    scope = 'active',
    onConflict = 'ignore',
  } = typeof unique === 'string' ? { key: unique } : unique
  assertKey('unique.key', key)
  if (!['ignore', 'replace', 'postpone'].includes(onConflict)) {
    throw new SkepError(
      'OPTION_INVALID',
      `unique.onConflict is "${onConflict}"; use 'ignore', 'replace' or 'postpone'.`,
    )
  }
  if (scope === 'queued' || scope === 'active') return { key, scope, windowMs: 0, onConflict }
  const windowMs = toMs('unique.scope', scope)
  assertWhole('unique.scope', windowMs, 0, LIMITS.delayMs)
  return { key, scope: 'window', windowMs, onConflict }
}
