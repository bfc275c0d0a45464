import * as nodeModule from 'node:module'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { loadModule } from '../connect/load-module.ts'
import { pass, type Resolved, type Resolving } from './hooks.ts'
import { isUsers, marked, withoutMarks } from './marks.ts'

/** Newer Nodes ask on the same thread, which is faster. */
interface NewerModule {
  readonly registerHooks?: (hooks: {
    readonly resolve: (
      specifier: string,
      context: Resolving & { readonly conditions?: readonly string[] },
      next: (specifier: string, context: Resolving) => Resolved,
    ) => Resolved
  }) => unknown
}

/** Loads modules of the user's as they are on the disk now, with all that they import, and knows which files these are. */
export class FreshModules {
  readonly #seen = new Set<string>()
  readonly #port: MessagePort | null
  readonly #own: readonly string[]
  readonly #cache = createRequire(import.meta.url).cache
  #loading = 0

  constructor() {
    this.#own = ownFolders()
    const addresses = this.#own.map((folder) => pathToFileURL(folder).href)
    this.#port = hook(addresses, (url) => this.#see(url))
    shortenStacks()
  }

  /** The files of the last loading, also of one that failed. */
  get files(): readonly string[] {
    return [...this.#seen]
  }

  /** What is imported from now on is read from the disk again. */
  begin(): void {
    this.#loading++
    this.#seen.clear()
    // What was required, and what jiti loads, is in a list that can be shortened.
    for (const file of Object.keys(this.#cache)) if (isUsers(file, this.#own)) delete this.#cache[file]
  }

  async load(path: string, shown: string): Promise<object> {
    this.#seen.add(path)
    try {
      return await loadModule(path, shown, marked(pathToFileURL(path).href, this.#loading))
    } finally {
      for (let url = this.#receive(); url !== undefined; url = this.#receive()) this.#see(url)
      for (const file of Object.keys(this.#cache)) if (isUsers(file, this.#own)) this.#seen.add(file)
    }
  }

  #receive(): string | undefined {
    return this.#port === null ? undefined : (receiveMessageOnPort(this.#port)?.message as string | undefined)
  }

  #see(url: string): void {
    this.#seen.add(fileURLToPath(withoutMarks(url)))
  }
}

/** The folders that our code is in: `dist`, or `src` where it is run from its sources. */
function ownFolders(): readonly string[] {
  const here = fileURLToPath(import.meta.url)
  const root = here.replace(/(?:dist[\\/]esm|src)[\\/]cli[\\/]reload[\\/][^\\/]+$/, '')
  return root === here ? [] : [`${root}dist`, `${root}src`]
}

function hook(own: readonly string[], see: (url: string) => void): MessagePort | null {
  const { registerHooks } = nodeModule as NewerModule
  if (registerHooks !== undefined) {
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        // What is required has no address but a path, which takes no mark.
        return context.conditions?.includes('import') === true ? pass(found, context, own, see) : found
      },
    })
    return null
  }
  const { port1, port2 } = new MessageChannel()
  port1.unref()
  nodeModule.register(new URL('./hooks.js', import.meta.url), {
    data: { port: port2, own },
    transferList: [port2],
  })
  return port1
}

/** Removes the marks: stacks show files by their real paths. */
function shortenStacks(): void {
  const before = Error.prepareStackTrace
  Error.prepareStackTrace = (error, sites) => {
    const lines = (sites as readonly { toString(): string }[]).map((site) => `\n    at ${site.toString()}`)
    const stack: unknown = before?.(error, sites) ?? `${String(error)}${lines.join('')}`
    return typeof stack === 'string' ? withoutMarks(stack) : stack
  }
}
