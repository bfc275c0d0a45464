import { relative, resolve } from 'node:path'
import type { Skep } from '../../index.ts'
import type { Call } from '../command.ts'
import type { LoadedConfig, LoadModule } from '../connect/config-file.ts'
import { configOf, type Opened } from '../connect/open.ts'
import { CliError } from '../exit.ts'
import { clean } from '../format/text.ts'
import { FileWatch } from './file-watch.ts'
import { FreshModules } from './fresh-modules.ts'

/** Loads the user's modules, reports changes of their files, and reloads them. */
export class Reloader {
  readonly #call: Call
  readonly #entry: string | undefined
  readonly #modules = new FreshModules()
  readonly #watch: FileWatch
  #onChange: (files: readonly string[]) => void = () => {}

  constructor(call: Call, entry: string | undefined) {
    this.#call = call
    this.#entry = entry
    this.#watch = new FileWatch((files) => this.#onChange(files))
    this.#modules.begin()
  }

  /** For the first loading. */
  readonly load: LoadModule = async (path, shown) => {
    try {
      return await this.#modules.load(path, shown)
    } finally {
      this.#watch.set(this.#files())
    }
  }

  /** Whether there is anything that could change. */
  get isWatching(): boolean {
    return this.#modules.files.length > 0
  }

  /** Called with the files that changed, as they are shown. */
  onChange(act: (files: readonly string[]) => void): void {
    this.#onChange = (files) => act(files.map((file) => clean(relative(this.#call.cwd, file))))
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return new Promise((done) => {
      this.#onChange = () => done()
    })
  }

  /** What is loaded from now on is read from the disk again. */
  begin(): void {
    this.#modules.begin()
  }

  /** Reads everything again. */
  async again(): Promise<LoadedConfig | null> {
    const before = this.#modules.files
    this.#modules.begin()
    try {
      return await configOf(this.#call, this.#entry, this.load)
    } catch (error) {
      // Files that were not reached this time may contain the mistake.
      this.#watch.set([...before, ...this.#files()])
      throw error
    }
  }

  close(): void {
    this.#watch.close()
  }

  #files(): string[] {
    const entry = this.#entry === undefined ? [] : [resolve(this.#call.cwd, this.#entry)]
    return [...new Set([...this.#modules.files, ...entry])]
  }
}

/** Whether the user's files are at fault, so that editing them may help. */
export function isUsersFault(error: unknown): boolean {
  return error instanceof CliError && error.code === 'CONFIG_INVALID'
}

/** Schedules that code did not have before are declared. Those with an owner replace the ones before. */
export function declareAnew(skep: Skep, before: Opened['config'], now: LoadedConfig): void {
  const { schedules = [], owner } = now.config
  if (owner !== undefined) {
    skep.schedules.declare(schedules, { owner })
    return
  }
  const known = new Set(before?.config.schedules?.map(({ id }) => id))
  const added = schedules.filter(({ id }) => !known.has(id))
  if (added.length > 0) skep.schedules.declare(added)
}
