import { existsSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import {
  assertOptions,
  type Flow,
  type Handler,
  messageOf,
  optionKeys,
  type SkepConfig,
} from '../../index.ts'
import { CliError, EXIT } from '../exit.ts'
import { loadModule } from './load-module.ts'

const NAMES = ['skep.config.ts', 'skep.config.mts', 'skep.config.js', 'skep.config.mjs']

const CONFIG_KEYS = optionKeys<SkepConfig>('skep.config', {
  store: true,
  notifier: true,
  handlers: true,
  schedules: true,
  owner: true,
  space: true,
  worker: true,
})

/** A config file, read and checked. */
export interface LoadedConfig {
  /** As it is shown: from the current folder if it is inside. */
  readonly file: string
  readonly config: Partial<SkepConfig>
  readonly handlers: readonly Handler[]
  readonly flows: readonly AnyFlow[]
}

/** How a module of the user's is loaded. */
export type LoadModule = (path: string, shown: string) => Promise<object>

export type AnyFlow = Flow<never, unknown>

/** The config file in `cwd` or the nearest folder above it. */
export function findConfig(cwd: string): string | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const found = NAMES.map((name) => join(folder, name)).find((file) => existsSync(file))
    if (found !== undefined || dirname(folder) === folder) return found
  }
}

/**
 * Reads a config file. With `entry` a module without a config is fine as well: the handlers it exports are taken.
 */
export async function loadConfig(
  file: string,
  {
    cwd,
    entry = false,
    load = loadModule,
  }: { readonly cwd: string; readonly entry?: boolean; readonly load?: LoadModule },
): Promise<LoadedConfig> {
  const path = resolve(cwd, file)
  const inside = relative(cwd, path)
  const shown = inside.startsWith('..') || isAbsolute(inside) ? path : inside
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw invalid(`There is no file "${shown}".`, 'Name it with --config <file>, or make a skep.config.ts.')
  }
  const module = await load(path, shown)
  const found = defaultOf(module)
  if (entry && !isConfigLike(found)) {
    const exported = [...new Set(Object.values(module).flat() as unknown[])]
    const [handlers, flows] = [exported.filter(isHandler), exported.filter(isFlow)]
    if (handlers.length > 0 || flows.length > 0) return { file: shown, config: {}, handlers, flows }
  }
  const config = checkConfig(found, shown)
  const work = config.handlers ?? []
  return { file: shown, config, handlers: work.filter(isHandler), flows: work.filter(isFlow) }
}

function defaultOf(module: object): unknown {
  const first = (module as { default?: unknown }).default
  // A CommonJS file that was compiled from ES modules has its default one level deeper.
  const inner = (first as { default?: unknown; __esModule?: unknown } | undefined) ?? undefined
  return inner?.__esModule === true ? inner.default : first
}

function isConfigLike(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !isHandler(value) &&
    'store' in value
  )
}

function isHandler(value: unknown): value is Handler {
  if (typeof value !== 'object' || value === null) return false
  const { queue, run } = value as Partial<Handler>
  return typeof run === 'function' && typeof queue?.name === 'string'
}

function isFlow(value: unknown): value is AnyFlow {
  const { name, tree } = (value ?? {}) as Partial<AnyFlow>
  return typeof name === 'string' && Array.isArray(tree?.nodes)
}

function isSchedule(value: unknown): boolean {
  return typeof (value as { resolve?: unknown } | null | undefined)?.resolve === 'function'
}

/** Validates a config, so that errors name its fields and not later consequences. */
function checkConfig(value: unknown, file: string): SkepConfig {
  const example = 'export default defineConfig({ store: sqliteStore({ file: "jobs.db" }), handlers: [] })'
  if (value === undefined) throw invalid(`"${file}" has no default export.`, `Write: ${example}`)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(
      `The default export of "${file}" is not a config but ${kindOf(value)}.`,
      `Write: ${example}`,
    )
  }
  try {
    assertOptions(CONFIG_KEYS, value)
  } catch (error) {
    throw invalid(`In "${file}": ${messageOf(error)}`, `Write: ${example}`)
  }
  const { store, handlers, schedules, owner, space, worker } = value as Record<keyof SkepConfig, unknown>
  if (
    typeof store !== 'function' &&
    typeof (store as { insert?: unknown } | undefined)?.insert !== 'function'
  ) {
    throw invalid(
      `In "${file}", store is ${kindOf(store)}.`,
      'Use a store, or a function that returns one: store: () => postgresStore({ url })',
    )
  }
  if (handlers !== undefined) {
    if (!Array.isArray(handlers)) {
      throw invalid(
        `In "${file}", handlers is ${kindOf(handlers)}.`,
        'Use a list: handlers: [mail.handle(send)]',
      )
    }
    const wrong = handlers.findIndex((handler) => !isHandler(handler) && !isFlow(handler))
    if (wrong !== -1) {
      throw invalid(
        `In "${file}", handlers[${wrong}] is ${kindOf(handlers[wrong])}.`,
        "A handler is what queue('name').handle(…) returns, and a flow what flow('name', …) returns.",
      )
    }
  }
  if (schedules !== undefined && !(Array.isArray(schedules) && schedules.every(isSchedule))) {
    throw invalid(
      `In "${file}", schedules is not a list of schedules.`,
      "Use a list: schedules: [schedule('nightly', { queue, cron: '0 3 * * *', payload })]",
    )
  }
  if (owner !== undefined && typeof owner !== 'string') {
    throw invalid(`In "${file}", owner is ${kindOf(owner)}.`, "Use a name: owner: 'billing'")
  }
  if (space !== undefined && typeof space !== 'string') {
    throw invalid(`In "${file}", space is ${kindOf(space)}.`, 'Use a name: space: "shop"')
  }
  if (worker !== undefined && (typeof worker !== 'object' || worker === null)) {
    throw invalid(`In "${file}", worker is ${kindOf(worker)}.`, 'Use options: worker: { concurrency: 20 }')
  }
  return value as SkepConfig
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object of another kind' : `a ${typeof value}`
}

export function invalid(message: string, fix: string, cause?: unknown): CliError {
  return new CliError('CONFIG_INVALID', message, {
    exitCode: EXIT.usage,
    fix,
    ...(cause === undefined ? {} : { cause }),
  })
}
