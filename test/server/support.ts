import { onTestFinished } from 'vitest'
import { createSkep, type Skep, type SkepOptions, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import {
  createServer,
  type InputOf,
  type NodeServerOptions,
  type OperationName,
  type OutputOf,
  type SkepServer,
} from '../../src/server.ts'

export interface Running {
  readonly url: string
  readonly skep: Skep
  readonly server: SkepServer
  /** Calls an operation by its name. Throws what the server refused with. */
  call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<OutputOf<Name>>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
}

/** A refusal, as a test sees it. */
export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(`${status} ${code}: ${message}`)
    this.status = status
    this.code = code
  }
}

/** A server on a port of its own, closed with the test. */
export async function startServer(
  options: NodeServerOptions = {},
  skepOptions: Partial<SkepOptions> = {},
): Promise<Running> {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger, ...skepOptions })
  const server = createServer(skep, { logger: silentLogger, ...options })
  onTestFinished(async () => {
    await server.close()
    await skep.close()
  })
  const { url } = await server.listen({ port: 0 })
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${url}${path}`, { headers })
  return {
    url,
    skep,
    server,
    get,
    async call(name, input, headers = {}) {
      const response = await fetch(`${url}/api/v1/call/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input),
      })
      const body = (await response.json()) as { error?: { code: string; message: string } }
      if (response.ok) return body as never
      throw new Refused(response.status, body.error?.code ?? '', body.error?.message ?? '')
    },
  }
}
