import { createSkep, type Skep, type SkepOptions } from '../index.ts'
import type { Remote } from '../operations/authorize/guard.ts'
import { ServerCore } from './core.ts'
import { assertServerOptions, HANDLER_KEYS } from './option-keys.ts'
import { resolveServerOptions, type ServerOptions } from './options.ts'
import { isSkep } from './skep-server.ts'

/** How a request reached a mounted server. */
export interface Mounted {
  /** The path that it is mounted at, such as `/admin/jobs`. @default the part of the path that `basePath` says */
  readonly mount?: string
  /** The address of the other end. @default it is not known, and then nobody is taken for local */
  readonly address?: string | null
  readonly isEncrypted?: boolean
}

export interface HandlerOptions extends ServerOptions {
  /** Where it is mounted, if the framework does not tell. @default '' */
  readonly basePath?: string
}

/** Everything that a server does, as one function from a request to an answer: to be mounted in yours. */
export interface SkepHandler {
  (request: Request, how?: Mounted): Promise<Response>
  /** Ends streams and closes what was opened for it. The Skep that it was given stays open. */
  close(): Promise<void>
}

/** Makes a handler for a Skep. Mount it with `toNode`, `toFastify`, `toKoa`, `toHono`, `toNext`, or call it yourself. */
export function skepHandler(source: Skep | SkepOptions, options: HandlerOptions = {}): SkepHandler {
  assertServerOptions(HANDLER_KEYS, options)
  const skep = isSkep(source) ? source : createSkep(source)
  const core = new ServerCore(skep, options)
  const bulk = resolveServerOptions(options).bulk ? skep.bulk.serve() : null
  const basePath = mountOf(options.basePath ?? '')
  const handle = (request: Request, how: Mounted = {}): Promise<Response> => {
    const remote: Remote = {
      address: how.address ?? null,
      isEncrypted: how.isEncrypted ?? request.url.startsWith('https:'),
    }
    return core.handle({ request, remote, mount: how.mount === undefined ? basePath : mountOf(how.mount) })
  }
  const close = async (): Promise<void> => {
    await bulk?.stop()
    await core.close()
    if (!isSkep(source)) await skep.close()
  }
  let closing: Promise<void> | undefined
  return Object.assign(handle, {
    close(): Promise<void> {
      closing ??= close()
      return closing
    },
  })
}

/** A path as a mount: with a slash in front and none at its end; empty for the root. */
export function mountOf(path: string): string {
  const trimmed = path.replace(/^\/+|\/+$/g, '')
  return trimmed === '' ? '' : `/${trimmed}`
}
