/** What Node asks when a module is imported, on a thread of its own: Node before 22.15 has no other way. */
import type { MessagePort } from 'node:worker_threads'
import { isUsers, loadingOf, marked } from './marks.ts'

export interface HookData {
  /** Receives the URLs of loaded modules. */
  readonly port: MessagePort
  /** The addresses of our own folders. */
  readonly own: readonly string[]
}

/** What follows is the part of Node's contract that we need. */
export interface Resolving {
  readonly parentURL?: string | undefined
}
export interface Resolved {
  readonly url: string
}

let data: HookData | undefined

export function initialize(given: HookData): void {
  data = given
}

export async function resolve(
  specifier: string,
  context: Resolving,
  next: (specifier: string, context: Resolving) => Promise<Resolved>,
): Promise<Resolved> {
  const found = await next(specifier, context)
  return pass(found, context, data?.own ?? [], (url) => data?.port.postMessage(url))
}

/** Marks the imports of a marked module, and reports them. */
export function pass(
  found: Resolved,
  { parentURL }: Resolving,
  own: readonly string[],
  tell: (url: string) => void,
): Resolved {
  const { url } = found
  const loading = loadingOf(parentURL)
  if (loading === null || !url.startsWith('file:') || !isUsers(url, own)) return found
  tell(url)
  return loadingOf(url) === null ? { ...found, url: marked(url, loading) } : found
}
