/** A disk of a few megabytes that can be filled and emptied. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Identity } from '../servers/server.ts'

export interface SmallDisk {
  readonly folder: string
  /** Takes all the room but so many bytes. */
  fill(leaveBytes: number): void
  /** Gives it back. */
  empty(): void
  remove(): void
}

/** A disk in memory, or the reason why there is none: a test skips with it. */
export function smallDisk(megabytes: number, owner: Identity = {}): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-small-'))
  const whose = owner.uid === undefined ? '' : `,uid=${owner.uid},gid=${owner.gid},mode=700`
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m${whose}`, 'tmpfs', folder], {
      stdio: 'pipe',
    })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    return `a small disk needs the right to mount: ${(error as Error).message}`
  }
  const padding = join(folder, 'padding')
  return {
    folder,
    fill(leaveBytes) {
      const handle = openSync(padding, 'a')
      const chunk = Buffer.alloc(64 * 1024)
      try {
        // The last chunks are refused: there is no room.
        while (writeSync(handle, chunk) === chunk.length);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(handle)
      }
      execFileSync('truncate', ['--size', `-${leaveBytes}`, padding])
    },
    empty: () => rmSync(padding, { force: true }),
    remove() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
