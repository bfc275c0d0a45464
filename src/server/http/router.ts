import type { ListedOperation } from '../../operations/table.ts'
import type { RawRoute } from './route.ts'

/** What can be at a path. */
export type Target =
  | { readonly kind: 'operation'; readonly operation: ListedOperation }
  | { readonly kind: 'raw'; readonly route: RawRoute }

/** What a path leads to. */
export type Route =
  | (Target & { readonly params: Readonly<Record<string, string>> })
  /** Something is there, but not for this method. */
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'none' }

/** Finds operations by method and path. */
export type Router = (method: string, path: string) => Route

interface Pattern {
  readonly target: Target
  readonly method: string
  readonly parts: readonly string[]
}

/** Makes a router of the operations' paths. A part that is written out goes before one that is a field. */
export function routerOf(operations: readonly ListedOperation[], routes: readonly RawRoute[] = []): Router {
  const byName = new Map(operations.map((operation) => [operation.name as string, operation]))
  const patterns: Pattern[] = [
    ...operations.map((operation) => patternOf(operation, { kind: 'operation', operation })),
    ...routes.map((route) => patternOf(route, { kind: 'raw', route })),
  ]
  patterns.sort((a, b) => fieldsIn(a) - fieldsIn(b))

  return (method, path) => {
    const parts = decoded(path)
    if (parts === null) return { kind: 'none' }
    if (parts.length === 2 && parts[0] === 'call') {
      const operation = byName.get(parts[1] as string)
      if (operation === undefined) return { kind: 'none' }
      return method === 'POST'
        ? { kind: 'operation', operation, params: {} }
        : { kind: 'method', allow: ['POST'] }
    }
    const allow = new Set<string>()
    for (const pattern of patterns) {
      const params = matched(pattern.parts, parts)
      if (params === null) continue
      if (pattern.method === method) return { ...pattern.target, params }
      allow.add(pattern.method)
    }
    return allow.size === 0 ? { kind: 'none' } : { kind: 'method', allow: [...allow] }
  }
}

function patternOf(
  { method, path }: { readonly method: string; readonly path: string },
  target: Target,
): Pattern {
  return { target, method, parts: path.slice(1).split('/') }
}

function fieldsIn({ parts }: Pattern): number {
  return parts.filter((part) => part.startsWith(':')).length
}

function matched(wanted: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (wanted.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [index, want] of wanted.entries()) {
    const part = parts[index] as string
    if (want.startsWith(':')) params[want.slice(1)] = part
    else if (want !== part) return null
  }
  return params
}

/** The parts of a path; null if they cannot be read. */
function decoded(path: string): readonly string[] | null {
  try {
    return path
      .replace(/^\/|\/$/g, '')
      .split('/')
      .map(decodeURIComponent)
  } catch {
    return null
  }
}
