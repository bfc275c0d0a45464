import { type Logger, type RecordStore, type Store, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { type VirtualRuntime, virtualRuntime } from 'skep/testing'
import type { Guarded } from '../../../src/operations/authorize/guard.ts'
import type { Caller } from '../../../src/operations/operation.ts'
import type { Scope } from '../../../src/operations/schema/wire-types.ts'
import { Access } from '../../../src/server/access/access.ts'
import type { AccessOptions } from '../../../src/server/access/options.ts'
import { Tokens } from '../../../src/server/tokens/tokens.ts'

/** Somebody who decides about access, and somebody who asks: without a server between them. */
export interface Desk {
  readonly runtime: VirtualRuntime
  readonly store: Store
  readonly access: Access
  readonly tokens: Tokens
  /** Asks, and tells who was recognised, or the status and code of the refusal. */
  ask(request?: Asked): Promise<Answer>
}

export interface Asked {
  readonly url?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly address?: string | null
  readonly isEncrypted?: boolean
}

export interface Answer {
  readonly caller: Caller | null
  readonly response: Response | null
  /** The name of the caller, or the code of the error, or the status of the response. */
  readonly said: string
  readonly facts: Readonly<Record<string, unknown>>
}

export function desk(
  options: AccessOptions = {},
  {
    env = {},
    records,
    logger = silentLogger,
  }: {
    readonly env?: Record<string, string>
    readonly records?: (store: Store) => RecordStore
    readonly logger?: Logger
  } = {},
): Desk {
  const runtime = virtualRuntime({ seed: 11 })
  const store = memoryStore({ runtime })
  const used = records?.(store) ?? store
  const access = new Access({ records: used, runtime, logger, space: 'default', env }, options)
  const tokens = new Tokens({ records: store, runtime, logger: silentLogger })
  return { runtime, store, access, tokens, ask: (request) => ask(access, request) }
}

async function ask(access: Access, asked: Asked = {}): Promise<Answer> {
  const {
    url = 'http://localhost:7537/api/v1/me',
    method = 'GET',
    headers = {},
    body,
    address = '127.0.0.1',
  } = asked
  const request = new Request(url, {
    method,
    headers: { host: new URL(url).host, ...headers },
    ...(body === undefined ? {} : { body }),
  })
  try {
    const answer = await access.identify(request, { address, isEncrypted: asked.isEncrypted ?? false })
    return answer instanceof Response
      ? { caller: null, response: answer, said: String(answer.status), facts: {} }
      : { caller: answer, response: null, said: answer.name, facts: {} }
  } catch (error) {
    const { code, facts } = error as { code?: string; facts?: Record<string, unknown> }
    if (code === undefined) throw error
    return { caller: null, response: null, said: code, facts: facts ?? {} }
  }
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

export function callerWith(scopes: readonly Scope[], more: Partial<Caller> = {}): Caller {
  return {
    name: 'ada',
    scopes: new Set(scopes),
    space: 'default',
    spaces: null,
    queues: ['*'],
    payloads: true,
    address: '10.0.0.9',
    ...more,
  }
}

export function guarded(more: Partial<Guarded> = {}): Guarded {
  return { name: 'jobs.change', scope: 'operate', isChange: true, queues: [], target: 'job x', ...more }
}
