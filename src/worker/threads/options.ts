import { availableParallelism } from 'node:os'
import { isAbsolute } from 'node:path'
import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { assertWhole } from '../options.ts'

/** How a handler runs in threads. Everything has a default. */
export interface ThreadOptions {
  /** Threads at most, each with one job at a time. `true`: as many as there are CPUs. @default true */
  readonly threads?: number | true
  /**
   * How long a handler may take to end after its signal aborted, before its thread is killed. Stay below the
   * worker's `grace`, which ends the wait for a thread that cannot be killed. @default '1s'
   */
  readonly grace?: Duration
  /** The most memory for the objects of one thread, in MiB. A thread that needs more dies. @default what Node gives */
  readonly memoryMb?: number
  /** Node's own options for the threads, such as `['--import', 'jiti/register']`. @default those of the process */
  readonly execArgv?: readonly string[]
}

const KEYS = optionKeys<ThreadOptions>('handleInThreads()', {
  threads: true,
  grace: true,
  memoryMb: true,
  execArgv: true,
})

export interface ResolvedThreadOptions {
  readonly module: URL | string
  readonly threads: number
  readonly graceMs: number
  readonly memoryMb: number | null
  readonly execArgv: readonly string[] | null
}

export function resolveThreadOptions(
  module: URL | string,
  options: ThreadOptions = {},
): ResolvedThreadOptions {
  assertOptions(KEYS, options)
  const { threads = true, grace = '1s', memoryMb, execArgv } = options
  if (threads !== true) assertWhole('threads', threads, 1, 1_000)
  if (memoryMb !== undefined) assertWhole('memoryMb', memoryMb, 8, 1_000_000)
  return Object.freeze({
    module: moduleFile(module),
    threads: threads === true ? availableParallelism() : threads,
    graceMs: toMs('grace', grace),
    memoryMb: memoryMb ?? null,
    execArgv: execArgv ?? null,
  })
}

/** Only what means the same in every folder: threads take a relative path from where the process was started. */
function moduleFile(module: URL | string): URL | string {
  if (module instanceof URL) return module
  if (typeof module === 'string' && isAbsolute(module)) return module
  if (typeof module === 'string' && module.startsWith('file:')) return new URL(module)
  throw new SkepError(
    'OPTION_INVALID',
    `The handler module is ${show(module)}; use new URL('./name.js', import.meta.url), or an absolute path.`,
  )
}
