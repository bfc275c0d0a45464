import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import {
  createSkep,
  type Handler,
  type Logger,
  type Notifier,
  type Skep,
  type SkepConfig,
  type Store,
  silentLogger,
} from '../../index.ts'
import type { Call } from '../command.ts'
import { notFound, usage } from '../exit.ts'
import { masker, maskUrl } from '../format/mask.ts'
import { clean } from '../format/text.ts'
import {
  type AnyFlow,
  findConfig,
  invalid,
  type LoadedConfig,
  type LoadModule,
  loadConfig,
} from './config-file.ts'
import { loadModule } from './load-module.ts'

/** The store, before it is opened. */
export interface Place {
  readonly kind: 'postgres' | 'redis' | 'sqlite' | 'memory' | 'config' | 'server'
  /** As it is shown, without a password. */
  readonly label: string
  /** The address or the file; empty for a store of the config. */
  readonly address: string
  /** The schema in PostgreSQL, the prefix in Redis. */
  readonly within: string | undefined
}

/** What a command works with. */
export interface Opened {
  readonly skep: Skep
  readonly store: Store
  readonly place: Place
  readonly config: LoadedConfig | null
  readonly handlers: readonly Handler[]
  readonly flows: readonly AnyFlow[]
  /** Closes the Skep and the notifier of the config. Errors are ignored. */
  close(): Promise<void>
}

export interface OpenOptions {
  /** Create the SQLite file if it is missing. Commands that only read must not create one. */
  readonly create: boolean
  /** A module that exports handlers. */
  readonly entry?: string | undefined
  /** Without SQLite, keep the jobs in memory and warn. */
  readonly fallback?: boolean
  /** How the modules are loaded. */
  readonly load?: LoadModule
  /** Used instead of everything else. */
  readonly file?: string
  readonly space?: string
  /** @default none: the doctor reports the warnings of a store */
  readonly logger?: Logger
}

const DEFAULT_FILE = join('.skep', 'dev.db')

/** Resolves the store. It connects at the first call. */
export async function open(call: Call, options: OpenOptions): Promise<Opened> {
  // Not from the environment: a variable may be meant for another command.
  refuse(call.args, ['url'], 'does not go with this command: it needs the database itself.')
  const config = options.file === undefined ? await configOf(call, options.entry, options.load) : null
  const place = await reachable(placeOf(call, config, options), call, options)
  call.out.mask = masker(place.kind in ADDRESSES ? place.address : undefined)
  call.out.dialled = place.label
  if (place.kind === 'sqlite') prepareFile(place, call, options)
  const store = await storeOf(place, config?.config)
  const notifier = place.kind === 'config' ? await notifierOf(config) : undefined
  const space = options.space ?? call.args.text('space') ?? config?.config.space
  const skep = createSkep({
    store,
    logger: options.logger ?? silentLogger,
    ...(notifier === undefined ? {} : { notifier }),
    ...(space === undefined ? {} : { space }),
  })
  const { schedules, owner } = config?.config ?? {}
  // Only a worker writes them to the store.
  if (schedules) skep.schedules.declare(schedules, owner === undefined ? {} : { owner })
  const close = async (): Promise<void> => {
    await skep.close().catch(() => {})
    await notifier?.close().catch(() => {})
  }
  return { skep, store, place, config, handlers: config?.handlers ?? [], flows: config?.flows ?? [], close }
}

/** Connects, does the work, and closes. */
export async function using<Answer>(
  call: Call,
  options: OpenOptions,
  work: (opened: Opened) => Promise<Answer>,
): Promise<Answer> {
  const opened = await open(call, options)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** Node 20 has no built-in SQLite: a first try works in memory. */
async function reachable(place: Place, { args, out }: Call, { fallback }: OpenOptions): Promise<Place> {
  if (fallback !== true || place.kind !== 'sqlite' || args.text('db') !== undefined) return place
  if (await hasSqlite()) return place
  out.warn(
    `Node ${process.versions.node} has no SQLite of its own, so the jobs are in memory and end with this process. Other ` +
      'terminals do not see them, but the dashboard and the HTTP API do. To keep them: npm install @photostructure/sqlite@1',
  )
  return { kind: 'memory', label: 'memory', address: 'memory:', within: undefined }
}

async function hasSqlite(): Promise<boolean> {
  const { sqliteStore } = await import('../../sqlite.ts')
  const store = sqliteStore({ file: ':memory:' })
  try {
    await store.ready()
    return true
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== 'CLIENT_MISSING'
  } finally {
    await store.close().catch(() => {})
  }
}

/** The config, with the handlers of the entry if there is one; null without both. */
export async function configOf(
  { args, cwd }: Call,
  entry: string | undefined,
  load: LoadModule = loadModule,
): Promise<LoadedConfig | null> {
  const named = args.text('config') ?? findConfig(cwd)
  const config = named === undefined ? null : () => loadConfig(named, { cwd, load })
  if (entry === undefined) return config === null ? null : config()
  const loaded = await loadConfig(entry, { cwd, entry: true, load })
  if (loaded.config.store !== undefined || config === null) return loaded
  // A module with handlers only does not select the store; the config does.
  return { ...(await config()), handlers: loaded.handlers, flows: loaded.flows }
}

function placeOf({ args, cwd }: Call, config: LoadedConfig | null, options: OpenOptions): Place {
  const db = options.file ?? args.text('db')
  if (db === undefined && config?.config.store !== undefined) {
    refuse(args, ['schema', 'prefix'], 'goes with --db <url>; the config makes its own store.')
    return { kind: 'config', label: `the store of ${config.file}`, address: '', within: undefined }
  }
  const address = db ?? DEFAULT_FILE
  const server = serverOf(address)
  if (server !== undefined) {
    if (!URL.canParse(address)) {
      throw usage(
        `${clean(maskUrl(address))} is not an address.`,
        `Write ${ADDRESSES[server]}, with special characters encoded: %40 for @, %2F for /, %23 for #.`,
      )
    }
    if (server === 'redis') refuse(args, ['schema'], 'is for PostgreSQL; in Redis it is --prefix.')
    else refuse(args, ['prefix'], 'is for Redis; in PostgreSQL it is --schema.')
    const within = args.text(server === 'redis' ? 'prefix' : 'schema')
    return { kind: server, label: clean(maskUrl(address)), address, within }
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(address) && !address.toLowerCase().startsWith('file://')) {
    throw usage(
      `There is no store for ${clean(maskUrl(address))}.`,
      `Use --db ${ADDRESSES.postgres}, ${ADDRESSES.redis}, or a SQLite file.`,
    )
  }
  refuse(args, ['schema', 'prefix'], 'is for a database server; a SQLite file has none.')
  if (address === 'memory:') return { kind: 'memory', label: 'memory', address, within: undefined }
  const path = resolve(cwd, address.replace(/^file:(\/\/)?/i, ''))
  const inside = relative(cwd, path)
  const label = clean(inside.startsWith('..') || isAbsolute(inside) ? path : inside)
  return { kind: 'sqlite', label, address: path, within: undefined }
}

const ADDRESSES = {
  postgres: 'postgres://user:password@host:5432/name',
  redis: 'redis://user:password@host:6379',
} as const

function serverOf(address: string): keyof typeof ADDRESSES | undefined {
  if (/^postgres(ql)?:\/\//i.test(address)) return 'postgres'
  return /^rediss?:\/\//i.test(address) ? 'redis' : undefined
}

/** A flag without effect is an error. A variable may be meant for another command. */
function refuse(args: Call['args'], flags: readonly string[], why: string): void {
  const typed = flags.find((flag) => args.typed(flag))
  if (typed !== undefined) throw usage(`--${typed} ${why}`)
}

/** Creates the default folder; a folder in --db must exist. */
function prepareFile({ address, label }: Place, { cwd, out }: Call, { create, file }: OpenOptions): void {
  if (existsSync(address)) return
  if (!create) {
    throw notFound(
      `There is no database "${label}" yet.`,
      'Start with "skep dev" or "skep enqueue", or name another with --db.',
    )
  }
  // In the wrong folder this would otherwise look like success.
  if (file === undefined) out.note(out.paintNote('dim', `Creating the database ${label}.`))
  const folder = dirname(address)
  if (folder !== resolve(cwd, '.skep') || existsSync(folder)) return
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, '.gitignore'), '*\n')
  } catch (cause) {
    throw invalid(`The folder "${folder}" could not be made.`, 'Name a file elsewhere: --db <file>', cause)
  }
}

/** A store is loaded when it is meant: a command starts faster without the others. */
async function storeOf(place: Place, config: Partial<SkepConfig> | undefined): Promise<Store> {
  switch (place.kind) {
    case 'server':
      throw new TypeError('A server is no store.')
    case 'memory':
      return (await import('../../memory.ts')).memoryStore()
    case 'sqlite':
      return (await import('../../sqlite.ts')).sqliteStore({ file: place.address })
    case 'postgres':
      return (await import('../../postgres.ts')).postgresStore({
        url: place.address,
        ...(place.within === undefined ? {} : { schema: place.within }),
      })
    case 'redis':
      return (await import('../../redis.ts')).redisStore({
        url: place.address,
        ...(place.within === undefined ? {} : { prefix: place.within }),
      })
    case 'config': {
      const { store } = config as SkepConfig
      const made = typeof store === 'function' ? await store() : store
      if (typeof (made as Partial<Store> | undefined)?.insert === 'function') return made
      throw invalid(
        `${place.label} is a function that returned no store.`,
        'Return what postgresStore({ url }) returns.',
      )
    }
  }
}

async function notifierOf(config: LoadedConfig | null): Promise<Notifier | undefined> {
  const notifier = config?.config.notifier
  const made = typeof notifier === 'function' ? await notifier() : notifier
  if (made === undefined || typeof (made as Partial<Notifier> | null)?.subscribe === 'function') return made
  throw invalid(
    `In "${config?.file}", notifier is no notifier.`,
    'Use one, or a function that returns one: notifier: () => natsNotifier({ servers })',
  )
}
