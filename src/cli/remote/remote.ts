import type { EnqueueOptions, JobEvent, Queue } from '../../index.ts'
import type { Wire } from '../../operations/schema/serialize.ts'
import type { InputOf, Me, OperationName, OutputOf, ServerClient } from '../../server.ts'
import type { Backend, Sent } from '../connect/backend.ts'
import { CliError, EXIT } from '../exit.ts'
import { resultOf, watchJob } from './watch.ts'

/** Calls operations on a server. */
export class RemoteBackend implements Backend {
  readonly #client: ServerClient
  #space: string
  #me: Me | null = null

  constructor(client: ServerClient, space = 'default') {
    this.#client = client
    this.#space = space
  }

  get space(): string {
    return this.#space
  }

  /** Reads who the caller is, which also shows whether the server is available. */
  async ready(): Promise<void> {
    try {
      this.#me = await this.#client.call('me.get')
      this.#space = this.#me.space
    } catch (error) {
      // A token with the scope enqueue alone may not read that.
      if ((error as { readonly code?: unknown }).code !== 'FORBIDDEN') throw error
    }
  }

  call<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    // An optional input may be passed for every operation.
    const call = this.#client.call.bind(this.#client) as Backend['call']
    return call(name, input)
  }

  watch(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Wire<JobEvent>, void, void> {
    return watchJob(this.#client, id, options)
  }

  async enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent> {
    const { delay, runAt, ...rest } = options
    const { id, duplicate } = await this.#client.call('jobs.enqueue', {
      ...(rest as Partial<InputOf<'jobs.enqueue'>>),
      queue: queue.name,
      payload,
      ...(delay === undefined ? {} : { delay: String(delay) }),
      ...(runAt === undefined ? {} : { runAt: new Date(runAt).toISOString() }),
    })
    return {
      id,
      duplicate,
      result: ({ timeout }) => {
        if (this.#me?.payloads === false) throw hidden()
        return resultOf(this.#client, id, timeout)
      },
    }
  }

  /** The server works on bulk actions. */
  serveBulk(): { stop(): Promise<void> } {
    return { stop: async () => {} }
  }
}

function hidden(): CliError {
  return new CliError('FORBIDDEN', 'This token may not see results.', {
    exitCode: EXIT.failure,
    fix: 'Use a token that was created with --payloads, or leave out --wait.',
  })
}
