/** What a caller may do: its scopes, its space, its queues. Every way into the server asks here, and nowhere else. */
import { EVERY_SPACE, matchesPattern, SkepError, showValue } from '../../index.ts'
import type { Caller } from '../operation.ts'
import type { Scope } from '../schema/inputs.ts'
import type { Credential } from './credential.ts'
import type { Guarded } from './guard.ts'

/** What each scope includes. Those of programs are apart: who may change jobs may not enqueue any unless it is said. */
const INCLUDES: Readonly<Record<Scope, readonly Scope[]>> = {
  enqueue: ['enqueue'],
  work: ['work'],
  read: ['read'],
  operate: ['operate', 'read'],
  admin: ['admin', 'operate', 'read'],
}

/** All that some scopes allow. */
export function expandScopes(scopes: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(scopes.flatMap((scope) => INCLUDES[scope]))
}

/** Throws `FORBIDDEN` unless the caller may do this. Whether a queue exists does not matter, so the answer does not tell. */
export function assertAllowed(caller: Caller, call: Guarded): void {
  if (!caller.scopes.has(call.scope)) {
    throw new SkepError(
      'FORBIDDEN',
      `${showValue(caller.name)} may not do ${call.name}: it needs the scope "${call.scope}".`,
      { facts: { scope: call.scope } },
    )
  }
  const hidden = call.queues.find((queue) => !coversQueue(caller.queues, queue))
  if (hidden === undefined) return
  throw new SkepError(
    'FORBIDDEN',
    `${showValue(caller.name)} may not touch the queue ${showValue(hidden)}.`,
    {
      facts: { queue: hidden },
    },
  )
}

/** Whether all that a name or a pattern means is within some patterns. */
export function coversQueue(patterns: readonly string[], queue: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, queue))
}

/** Who asks, as its credential says. */
export function callerOf(credential: Credential, address: string | null): Caller {
  return { ...credential, scopes: expandScopes(credential.scopes), address }
}

/** Whether it acts in this space, or may name it. `'*'` stands for all of them. */
export function maySpace({ space, spaces }: Pick<Caller, 'space' | 'spaces'>, named: string): boolean {
  if (spaces === '*') return true
  return named !== EVERY_SPACE && (named === space || (spaces?.includes(named) ?? false))
}
