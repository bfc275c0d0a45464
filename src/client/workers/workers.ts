import { assertOptions, optionKeys } from '../../core/options.ts'
import type { ClientEnv } from '../client-env.ts'
import type { Relay, RelayOptions } from '../remote-execution/relay.ts'
import { commandWorker, listWorkers, type WorkerView } from './list.ts'

/** Who sends a command to a worker, for the worker's log and the audit. */
export interface WorkerCommandOptions {
  readonly by?: string
}

const COMMAND_KEYS = optionKeys<WorkerCommandOptions>(
  'workers.pause(), workers.resume() and workers.stop()',
  { by: true },
)

export interface WorkersEnv extends ClientEnv {
  readonly relay: <Holder>(options: RelayOptions<Holder>) => Relay<Holder>
}

/** Lists and controls the workers of all processes. */
export class Workers {
  readonly #env: WorkersEnv

  constructor(env: WorkersEnv) {
    this.#env = env
  }

  /** The registered workers, of this and of other machines. */
  async list(): Promise<readonly WorkerView[]> {
    await this.#env.ready()
    return listWorkers(this.#env)
  }

  /** Lets a worker finish its running jobs and claim no more, until {@link Workers.resume}. Null: no such worker. */
  pause(id: string, options: WorkerCommandOptions = {}): Promise<WorkerView | null> {
    return this.#command(id, 'pause', options)
  }

  /** Ends {@link Workers.pause}. Null: no such worker. */
  resume(id: string, options: WorkerCommandOptions = {}): Promise<WorkerView | null> {
    return this.#command(id, 'resume', options)
  }

  /**
   * Stops a worker as its own program would: it drains and signs off. Its process does not exit by itself: see
   * {@link Worker.stopped}. Null: no such worker.
   */
  stop(id: string, options: WorkerCommandOptions = {}): Promise<WorkerView | null> {
    return this.#command(id, 'stop', options)
  }

  /** The worker receives it by a hint within moments, or with its next heartbeat. */
  async #command(
    id: string,
    command: 'pause' | 'resume' | 'stop',
    options: WorkerCommandOptions,
  ): Promise<WorkerView | null> {
    assertOptions(COMMAND_KEYS, options)
    await this.#env.readyToWrite()
    return commandWorker({ ...this.#env, store: this.#env.patient }, id, command, options)
  }

  /**
   * Starts a worker whose jobs run outside of this process, such as a server's receivers. It claims jobs of the queues that
   * are opened on it, hands them over, and saves how they ended. It runs until `stop()`, through every outage of the store.
   */
  relay<Holder>(options: RelayOptions<Holder>): Relay<Holder> {
    return this.#env.relay(options)
  }
}
