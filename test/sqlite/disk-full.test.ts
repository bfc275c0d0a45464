import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claimCall, done, freshFolder, later, newJobs, openHandle, openStore } from './support.ts'

/** A disk of a few megabytes, or the reason why there is none. */
function smallDisk(): string | Error {
  const folder = freshFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    return error as Error
  }
  later(() => execFileSync('umount', ['-l', folder]))
  return folder
}

describe('A full disk', () => {
  it('fails inserts and writes nothing by halves; what is there can be worked off, and then it goes on', async (t) => {
    const disk = smallDisk()
    if (disk instanceof Error) return t.skip(`a small disk needs the right to mount: ${disk.message}`)
    const file = join(disk, 'jobs.db')
    const store = openStore({ file })
    const padding = join(disk, 'padding')
    writeFileSync(padding, Buffer.alloc(8 * 1024 * 1024))
    await store.ready()

    const accepted: string[] = []
    const payload = JSON.stringify('x'.repeat(2_000))
    let failure: unknown
    while (failure === undefined) {
      const jobs = newJobs(50, { payload })
      await store.insert({ jobs }).then(
        () => accepted.push(...jobs.map(({ id }) => id)),
        (error: unknown) => {
          failure = error
        },
      )
    }

    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', effect: 'none', transient: true })
    const [counts] = (await store.counts({ space: 'acme' })).queues
    expect(counts?.states.ready).toBe(accepted.length)

    rmSync(padding)
    const worked: string[] = []
    for (;;) {
      const { jobs } = await store.claim(claimCall(20))
      if (jobs.length === 0) break
      await store.settle({
        settlements: jobs.map(({ space, id, token }) => ({ space, id, token, verdict: done })),
      })
      worked.push(...jobs.map(({ id }) => id))
    }
    expect(worked.toSorted()).toEqual(accepted.toSorted())
    await store.insert({ jobs: newJobs(50, { payload }) })
    expect(openHandle(file).prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
  })
})
