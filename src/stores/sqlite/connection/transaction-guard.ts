import type { SkepError } from '../../../core/errors.ts'
import type { SqliteClient } from './client.ts'

/** The handle behind each guarded one, and why that is closed. */
interface Guard {
  readonly client: SqliteClient
  ended: SkepError | null
}

const guards = new WeakMap<object, Guard>()

/** What can write: handles, statements, and rows that are still being read, because RETURNING writes with each of them. */
const WRITERS = ['exec', 'run', 'next'] as const

/**
 * The same handle for the duration of one transaction. After `close(error)` its methods throw `error`, and so do those of its
 * statements: what they write would be a transaction of its own, or part of the next one on that handle.
 */
export function guardHandle<Client extends SqliteClient>(
  client: Client,
): { readonly tx: Client; readonly close: (error: SkepError) => void } {
  const guard: Guard = { client, ended: null }
  const known = new WeakMap<object, object>()

  const wrap = (value: unknown): unknown => {
    if (!isObject(value) || !(typeof value === 'function' || canWrite(value))) return value
    const before = known.get(value)
    if (before) return before
    const wrapped = new Proxy(value, { get, apply })
    known.set(value, wrapped)
    // Statements that return themselves, and methods that return a wrapped value, are wrapped once.
    known.set(wrapped, wrapped)
    guards.set(wrapped, guard)
    return wrapped
  }

  // Clients keep what they need in native slots and private fields, so their code gets the objects themselves.
  const get = (target: object, key: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, key, target)
    const own = Reflect.getOwnPropertyDescriptor(target, key)
    // A proxy may not give anything else for it.
    if (own && !own.configurable && own.writable === false) return value
    return typeof value === 'function' ? wrapMethod(target, value) : wrap(value)
  }
  const apply = (target: object, self: unknown, values: unknown[]): unknown => {
    if (guard.ended !== null) throw guard.ended
    return wrap(Reflect.apply(target as (...values: unknown[]) => unknown, self, values))
  }

  const methods = new WeakMap<object, WeakMap<object, unknown>>()
  const wrapMethod = (target: object, method: object): unknown => {
    const ofTarget = methods.get(target) ?? new WeakMap<object, unknown>()
    methods.set(target, ofTarget)
    const wrapped =
      ofTarget.get(method) ?? new Proxy(method, { get, apply: (it, _, values) => apply(it, target, values) })
    ofTarget.set(method, wrapped)
    return wrapped
  }

  return {
    tx: wrap(client) as Client,
    close: (error) => {
      guard.ended ??= error
    },
  }
}

/** The handle itself, also of a guarded one. */
export function unguarded<Client extends SqliteClient>(client: Client): Client {
  return ((isObject(client) && guards.get(client)?.client) || client) as Client
}

/** Throws if it is the handle of a transaction that has ended. */
export function assertOpen(client: SqliteClient): void {
  const ended = guards.get(client)?.ended
  if (ended) throw ended
}

function canWrite(value: object): boolean {
  return WRITERS.some((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'function')
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
