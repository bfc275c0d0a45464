import { hash } from 'node:crypto'
import { withoutChain } from '../../core/flows/chains.ts'
import type { Outcome } from '../../core/policies/policy.ts'
import type { Run } from '../../worker/runs.ts'
import type { RelayEnd } from './relay.ts'
import { lettersOf, type RelayedResult } from './results.ts'

/**
 * A job that somebody outside of the process runs. Its texts are as they are stored: nothing is read on the way.
 *
 * `Holder` is whatever the one who took it wants to keep beside it.
 */
export class RelayedJob<Holder = unknown> {
  /** Who has it; null once it is over. */
  holder: Holder | null = null
  /** How it ended, as the one who has it says; null as long as that is not known. */
  end: RelayEnd | null = null
  /**
   * What became of the jobs that it follows: in a chain, of the one before it; after a group, of its members, in their order.
   * Empty for all other jobs, null if they are too large to travel with it.
   */
  readonly results: readonly RelayedResult[] | null
  readonly #run: Run
  #token: string | null = null

  constructor(run: Run, results: readonly RelayedResult[] | null = []) {
    this.results = results
    this.#run = run
    run.parcel = this
  }

  get id(): string {
    return this.#run.job.id
  }

  get space(): string {
    return this.#run.job.space
  }

  get queue(): string {
    return this.#run.job.queue
  }

  /** JSON text. */
  get payload(): string {
    return this.#run.job.payload
  }

  /** The key of its lane; null when it has none. */
  get lane(): string | null {
    return this.#run.job.lane
  }

  /** Which run of the job this is, from 1. */
  get attempt(): number {
    return this.#run.job.starts
  }

  /** When it was enqueued, in milliseconds since 1970. */
  get enqueuedAtMs(): number {
    return this.#run.job.enqueuedAt
  }

  /** How long it may take; null: as long as it likes. */
  get timeoutMs(): number | null {
    return this.#run.spec.policyOf(this.#run.job).timeoutMs
  }

  /** Short strings that travel with it. Those that cannot be read are left out. */
  get headers(): Readonly<Record<string, string>> {
    const { headers } = this.#run.job
    if (headers === null) return {}
    try {
      return withoutChain(JSON.parse(headers) as Record<string, string>)
    } catch {
      return {}
    }
  }

  /** Whether it has headers at all, so that nobody has to read them. */
  get hasHeaders(): boolean {
    return this.#run.job.headers !== null
  }

  /** About how many bytes it takes on its way. */
  get bytes(): number {
    const { payload, headers } = this.#run.job
    const { results } = this
    const more = results === null || results.length === 0 ? 0 : lettersOf(results)
    return payload.length + (headers?.length ?? 0) + more + 200
  }

  /** Names this very lease to whoever has it. Whoever knows it, and the id, may end the job. */
  get token(): string {
    this.#token ??= tokenOf(this.#run.job)
    return this.#token
  }

  /** Whether nobody has said yet how it ended. */
  get isOpen(): boolean {
    return this.#run.stage === 'running'
  }

  /** For the relay alone. */
  static runOf(job: RelayedJob<never>): Run {
    return job.#run
  }
}

/**
 * The jobs of one claim share the store's token, and they may go to different receivers. So that none of them can end the jobs
 * of another, each gets a text that follows from the token and the id, and from which the token does not follow. Every server
 * that can read the job can check it.
 */
export function tokenOf({ id, token }: { readonly id: string; readonly token: string }): string {
  return hash('sha256', `${token}\n${id}`, 'base64url').slice(0, 22)
}

/**
 * What a job keeps as its token when a server that does not hold its lease ended it like this. It follows from the job's own token
 * and the outcome, so every server recognises the same end when it is repeated, and no other.
 */
export function repeatTokenOf(token: string, outcome: Outcome): string {
  return hash('sha256', `${token}\n${JSON.stringify(outcome)}`, 'base64url').slice(0, 22)
}
