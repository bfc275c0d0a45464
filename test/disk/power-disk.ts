/** A disk in a process of its own, mounted as a folder, whose power can be cut. */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CutMode, CutReport } from './power-files.ts'

/** When to cut, and what becomes of what was not synced. */
export interface CutPlan {
  /** At this change of the disk (a write, a sync, a name), counted from when it was armed. */
  readonly afterChanges: number
  /** That change is not carried out. Otherwise it is, and only its answer is missing. */
  readonly beforeTheLast: boolean
  readonly mode: CutMode
  readonly seed: number
}

/** The next sync of this file fails, once. What it should have saved is lost (fsync on Linux). */
export interface SyncFault {
  readonly file: string
}

export type DiskCommand =
  | { readonly kind: 'mount' | 'cutNow' | 'restore' | 'replace' | 'release' | 'unmount' }
  | { readonly kind: 'arm'; readonly plan: CutPlan }
  | { readonly kind: 'lie'; readonly ignoresSync: boolean }
  | { readonly kind: 'failSync'; readonly fault: SyncFault }
  | { readonly kind: 'copy'; readonly to: string }

export type Cut = CutReport & { readonly changes: number }

export type DiskMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'done'; readonly number: number; readonly error: string | null }
  | { readonly kind: 'cut'; readonly report: Cut }
  | { readonly kind: 'sync-failed'; readonly file: string }

/** Undefined when file systems of our own can be mounted here, otherwise the reason why not. */
export function whyNoPowerDisk(): string | undefined {
  if (process.platform !== 'linux') return 'a disk with a power switch needs Linux'
  if (process.getuid?.() !== 0) return 'a disk with a power switch needs root, to mount it'
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK)
  } catch (error) {
    return `a disk with a power switch needs /dev/fuse: ${(error as Error).message}`
  }
  return undefined
}

export class PowerDisk {
  /** Where it is mounted. */
  readonly folder: string
  readonly #child: ChildProcess
  readonly #answers = new Map<number, (error: string | null) => void>()
  #number = 0
  #onCut: ((cut: Cut) => void) | null = null
  #onSyncFailed: (() => void) | null = null

  private constructor(folder: string, child: ChildProcess) {
    this.folder = folder
    this.#child = child
    child.on('message', (message: DiskMessage) => this.#hear(message))
    child.once('exit', () => {
      for (const answer of this.#answers.values()) answer('the process of the disk has ended')
    })
  }

  static async start(): Promise<PowerDisk> {
    const folder = mkdtempSync(join(tmpdir(), 'skep-power-'))
    const script = fileURLToPath(new URL('./power-disk-process.ts', import.meta.url))
    const child = fork(script, [folder], { execArgv: ['--import', 'jiti/register'] })
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve())
      child.once('exit', (code) => reject(new Error(`The process of the disk ended with code ${code}.`)))
    })
    const disk = new PowerDisk(folder, child)
    await disk.#ask({ kind: 'mount' })
    return disk
  }

  /**
   * Plans a cut. `happened` resolves when it has come; from then on nobody gets an answer from the disk, until those
   * who used it are killed and `restore` is called.
   */
  async arm(plan: CutPlan): Promise<{ readonly happened: Promise<Cut> }> {
    const happened = new Promise<Cut>((resolve) => {
      this.#onCut = resolve
    })
    await this.#ask({ kind: 'arm', plan })
    return { happened }
  }

  /** Cuts at once, as planned but for the moment. Nothing happens if the power is off already. */
  cutNow(): Promise<void> {
    return this.#ask({ kind: 'cutNow' })
  }

  /** From now on syncs say yes and do nothing, or are honest again. */
  lie(ignoresSync: boolean): Promise<void> {
    return this.#ask({ kind: 'lie', ignoresSync })
  }

  /** Lets the next sync of a file fail. `failed` resolves when it has. */
  async failSync(fault: SyncFault): Promise<{ readonly failed: Promise<void> }> {
    const failed = new Promise<void>((resolve) => {
      this.#onSyncFailed = resolve
    })
    await this.#ask({ kind: 'failSync', fault })
    return { failed }
  }

  /** Copies the files, as they are now, to a folder on another disk. */
  copy(to: string): Promise<void> {
    return this.#ask({ kind: 'copy', to })
  }

  /** After a cut: lets go of those who wait for the disk and were killed. */
  release(): Promise<void> {
    return this.#ask({ kind: 'release' })
  }

  /** After a cut, when nobody uses the disk any more: the power is back, and with it what survived. */
  restore(): Promise<void> {
    return this.#ask({ kind: 'restore' })
  }

  /** Puts a new, empty disk in the place of this one, which nobody may be using. */
  replace(): Promise<void> {
    return this.#ask({ kind: 'replace' })
  }

  /** Unmounts. What still uses the disk gets errors. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    try {
      await this.#ask({ kind: 'unmount' })
    } catch {
      this.#child.kill('SIGKILL')
    }
    await ended
    detach(this.folder)
    rmSync(this.folder, { recursive: true, force: true })
  }

  #hear(message: DiskMessage): void {
    if (message.kind === 'done') this.#answers.get(message.number)?.(message.error)
    else if (message.kind === 'cut') this.#onCut?.(message.report)
    else if (message.kind === 'sync-failed') this.#onSyncFailed?.()
  }

  #ask(command: DiskCommand): Promise<void> {
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      this.#answers.set(number, (error) => {
        this.#answers.delete(number)
        if (error === null) resolve()
        else reject(new Error(`The disk could not ${command.kind}: ${error}`))
      })
      this.#child.send({ number, command })
    })
  }
}

/** Takes away what is left of a mount whose process is gone. */
function detach(folder: string): void {
  try {
    execFileSync('umount', ['-l', folder], { stdio: 'ignore' })
  } catch {
    // It is unmounted, as it should be.
  }
}
