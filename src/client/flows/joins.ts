import { SkepError } from '../../core/errors.ts'
import { LIMITS } from '../../core/limits.ts'
import { show } from '../../core/names.ts'
import type { Join } from '../../flows/definition.ts'
import { assertWhole } from '../../worker/options.ts'

declare const KIND: unique symbol

/** When a step with several members is done, and what they come to. */
export interface JoinRule<Kind extends JoinKind = JoinKind> {
  readonly kind: Kind
  readonly join: Join
  readonly [KIND]?: Kind
}

export type JoinKind = 'all' | 'settled' | 'first' | 'failFast'

/** What became of one member. */
export type Settled<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly state: string; readonly failure: { readonly message: string } }

/** What the members come to: their results in order, or with `settled` what became of each. */
export type Joined<Kind extends JoinKind, Result> = Kind extends 'settled'
  ? readonly Settled<Result>[]
  : readonly Result[]

/** All must be done. If one is not, the others still end, and then the step has failed; mending that one completes it. */
export const all: JoinRule<'all'> = { kind: 'all', join: { need: 'all', failing: 'end' } }

/** All must have ended, in whatever way. */
export const settled: JoinRule<'settled'> = { kind: 'settled', join: { need: 'none', failing: 'end' } }

/** All must be done, and the first that is not fails the step at once; the others are cancelled. */
export const failFast: JoinRule<'failFast'> = { kind: 'failFast', join: { need: 'all', failing: 'first' } }

/** The first `count` that are done are enough; the others are cancelled. It fails when that is no longer possible. */
export function first(count: number): JoinRule<'first'> {
  assertWhole('first', count, 1, LIMITS.batchJobs)
  return { kind: 'first', join: { need: count, failing: 'hopeless' } }
}

/** Whether it is one of the rules above. */
export function isJoin(value: unknown): value is JoinRule {
  const { kind, join } = (value ?? {}) as Partial<JoinRule>
  return typeof kind === 'string' && join?.need !== undefined && join.failing !== undefined
}

export function assertJoin(what: string, join: unknown): void {
  if (isJoin(join)) return
  throw new SkepError(
    'OPTION_INVALID',
    `${what} is ${show(join)}; use all, settled, failFast or first(count), which skep exports.`,
  )
}

/** Whether what is left is cancelled once it has been decided. */
export function cancelsRest({ kind }: JoinRule): boolean {
  return kind === 'first' || kind === 'failFast'
}
