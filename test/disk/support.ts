/** What the tests of this folder share: things to clear away, evidence, waiting. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach } from 'vitest'
import type { Pen } from './evidence.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Runs at the end of the test, the latest first. */
export function later(close: () => unknown): void {
  closers.push(close)
}

/** A file for evidence, on the normal disk. */
export function freshEvidence(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-evidence-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'evidence')
}

/** A pen that also counts what it notes. */
export function counting(pen: Pen): { pen: Pen; count: (sign: string) => number } {
  const counts: Record<string, number> = {}
  later(() => pen.close())
  return {
    pen: {
      ...pen,
      note(sign, key, more) {
        counts[sign] = (counts[sign] ?? 0) + 1
        pen.note(sign, key, more)
      },
    },
    count: (sign) => counts[sign] ?? 0,
  }
}

/** Waits for what other processes do; gives up after half a minute. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`It never came to this: ${String(isSo)}`)
    await sleep(10)
  }
}
