import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors write a file in several steps. */
const SETTLE_MS = 30

/**
 * Reports changes of files. Their folders are watched and not the files: many editors put a new file in the place of the old one, and
 * a file that was missing may come.
 */
export class FileWatch {
  readonly #onChange: (files: readonly string[]) => void
  readonly #folders = new Map<string, FSWatcher>()
  #files = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(onChange: (files: readonly string[]) => void) {
    this.#onChange = onChange
  }

  /** Watches these from now on, and those before no more. */
  set(files: readonly string[]): void {
    this.#files = new Map(files.map((file) => [file, signOf(file)]))
    const wanted = new Set(files.map((file) => dirname(file)))
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#watch(folder)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        const isOurs = name === null || [...this.#files.keys()].some((file) => basename(file) === name)
        if (isOurs) this.#soon()
      })
      // A folder that goes away is watched no more; the files that were in it are gone anyway.
      watcher.on('error', () => watcher.close())
      this.#folders.set(folder, watcher)
    } catch {
      // No more watchers are to be had, or no such folder: reloading by hand still works.
    }
  }

  #soon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), SETTLE_MS)
  }

  #look(): void {
    const changed = [...this.#files].filter(([file, sign]) => signOf(file) !== sign).map(([file]) => file)
    for (const file of changed) this.#files.set(file, signOf(file))
    if (changed.length > 0) this.#onChange(changed)
  }
}

/** Changes with the file: its time and its size. */
function signOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}
