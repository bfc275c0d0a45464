import type { Notifier } from '../notifier/notifier.ts'
import type { Store } from '../store/store.ts'
import type { WorkerOptions } from '../worker/options.ts'
import type { Flow } from './flows/flow.ts'
import type { Handler } from './queues/queue.ts'
import type { ScheduleDefinition } from './schedules/schedule.ts'

/** What `skep.config.ts` tells the command line about your program. */
export interface SkepConfig {
  /** Where the jobs live: a store, or a function that opens one, called only when a command needs it. */
  readonly store: Store | (() => Store | Promise<Store>)
  /**
   * Who tells other processes of new jobs: a notifier, or a function that makes one. All that work on the store must use the same.
   * The command closes it. @default the store's own
   */
  readonly notifier?: Notifier | (() => Notifier | Promise<Notifier>)
  /** What `skep worker` and `skep dev` run: handlers and flows. @default none: then only the commands that look and change work */
  readonly handlers?: readonly (Handler | Flow<never, unknown>)[]
  /** What the code declares: `skep worker` and `skep dev` bring it into the store. @default none */
  readonly schedules?: readonly ScheduleDefinition[]
  /** Whose schedules they are; those of this owner that are not in the list are removed. @default nobody's: nothing is removed */
  readonly owner?: string
  /** The tenant. @default 'default' */
  readonly space?: string
  /** How the workers run; flags win. */
  readonly worker?: WorkerOptions
}

/**
 * Gives a config file its types. It returns what it gets.
 *
 * ```ts
 * // skep.config.ts
 * export default defineConfig({ store: () => postgresStore({ url: process.env.DATABASE_URL }), handlers: [sendMail] })
 * ```
 */
export function defineConfig(config: SkepConfig): SkepConfig {
  return config
}
