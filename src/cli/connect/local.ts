import {
  type EnqueueOptions,
  type JobEvent,
  type Queue,
  type Skep,
  SkepError,
  systemRuntime,
} from '../../index.ts'
import { expandScopes } from '../../operations/authorize/authorize.ts'
import { Cards } from '../../operations/authorize/declarations.ts'
import type { Caller } from '../../operations/operation.ts'
import { SharedBudget } from '../../operations/redaction/budget.ts'
import { SCOPES } from '../../operations/schema/inputs.ts'
import { toWire, type Wire } from '../../operations/schema/serialize.ts'
import type { Services, TokenList } from '../../operations/services.ts'
import { Lookback } from '../../operations/system/metrics-window.ts'
import { type InputOf, type OperationName, type OutputOf, operationNamed } from '../../operations/table.ts'
import { Turns } from '../../operations/turns.ts'
import { ownVersion } from '../version.ts'
import type { Backend, Sent } from './backend.ts'

/** Runs operations in this process, as an administrator who sees everything. There is no audit log of them. */
export class LocalBackend implements Backend {
  readonly #skep: Skep
  readonly #caller: Caller
  readonly #services: Services

  /** `by` is the name of the user in holds, bulk actions and tokens. */
  constructor(skep: Skep, { by, place }: { readonly by: string; readonly place: string }) {
    this.#skep = skep
    this.#caller = {
      name: by,
      scopes: expandScopes(SCOPES),
      space: skep.space,
      spaces: '*',
      queues: ['*'],
      payloads: true,
      address: null,
    }
    this.#services = servicesOf(skep, place)
  }

  get space(): string {
    return this.#skep.space
  }

  async ready(): Promise<void> {
    await this.#skep.ready()
  }

  async call<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    const operation = operationNamed(name)
    if (operation === null) throw new SkepError('NOT_FOUND', `There is no operation ${name}.`)
    const output = await operation.run(operation.input.read(input, 'input'), {
      skep: this.#skep,
      caller: this.#caller,
      services: this.#services,
      signal: new AbortController().signal,
    })
    return output as OutputOf<Name>
  }

  async *watch(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Wire<JobEvent>, void, void> {
    for await (const event of this.#skep.jobs.watch(id, options)) yield toWire(event)
  }

  enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent> {
    return this.#skep.enqueue(queue, payload, options)
  }

  serveBulk(): { stop(): Promise<void> } {
    return this.#skep.bulk.serve()
  }
}

/** What a server has beside its Skep, as far as a command line has it. */
function servicesOf(skep: Skep, place: string): Services {
  const runtime = systemRuntime()
  return {
    about: { version: ownVersion(), environment: null, traceUrl: null, place },
    runtime,
    process: { upMs: () => 0, lagMs: () => 0, connections: () => 0 },
    cards: new Cards(runtime),
    lookback: new Lookback(runtime),
    receivers: { list: async () => [], close: async () => false },
    tokens: tokensOf(skep),
    auditLog: { between: async () => [], list: async () => ({ entries: [], cursor: null }) },
    redactionBudget: new SharedBudget(),
    turns: new Turns(runtime),
    redactor: { isOff: true, value: (value) => value, text: (text) => text },
    quotas: { assertEnqueue: async () => {}, assertPayloads: () => {}, assertSchedule: async () => {} },
    alerts: { checks: async () => [] },
  }
}

/** The tokens of the store. The server is loaded only for them. */
function tokensOf(skep: Skep): TokenList {
  const tokens = async () => (await import('../../server.ts')).accessTokens(skep)
  return {
    list: async () => (await tokens()).list(),
    async create(caller, { expires, space = caller.space, ...fields }) {
      const time = expires === undefined ? {} : { expires: expires as `${number}d` }
      return (await tokens()).create({ ...fields, ...time, space }, `cli:${caller.name}`)
    },
    revoke: async (_caller, id) => (await tokens()).revoke(id),
  }
}
