import { copyFileSync, readdirSync, readlinkSync, renameSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { claimCall, freshFile, newJobs, openStore, readyCount } from './support.ts'

const mail = queue<number>('mail')

/** The names under which this process has the file open. */
function descriptors(file: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith(file) ? [target] : []
    } catch {
      return []
    }
  })
}

async function enqueueAndClose(file: string, count: number): Promise<void> {
  const skep = createSkep({ store: sqliteStore({ file }), logger: silentLogger })
  await skep.enqueueMany(
    mail,
    Array.from({ length: count }, (_, n) => n),
  )
  await skep.close()
}

describe('A closed SQLite store', () => {
  it('has every job in the file itself: a copy of it without its log has them all', async () => {
    const file = freshFile()
    await enqueueAndClose(file, 100)

    const copy = freshFile()
    copyFileSync(file, copy)

    const store = openStore({ file: copy })
    expect((await store.counts({ space: 'default' })).queues).toMatchObject([{ states: { ready: 100 } }])
  })

  it('closes its file descriptors', async (t) => {
    if (process.platform !== 'linux') return t.skip('only Linux lists the open files of a process')
    const file = freshFile()
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void

    await enqueueAndClose(file, 10)

    // @photostructure/sqlite finalises statements when they are collected as garbage, and only then closes the file.
    await expect
      .poll(async () => {
        collectGarbage()
        await sleep(10)
        return descriptors(file)
      })
      .toEqual([])
  })

  it('leaves the log to another store that still has the file open', async () => {
    const file = freshFile()
    const [first, second] = [openStore({ file }), openStore({ file })]
    await first.insert({ jobs: newJobs(3) })
    await second.ready()

    await first.close()

    expect(await readyCount(second)).toBe(3)
    expect((await second.claim(claimCall(10))).jobs).toHaveLength(3)
  })
})

describe('A SQLite file that was replaced under a store', () => {
  it('is reported by the store that still has the old one open', async () => {
    const file = freshFile()
    const backup = freshFile()
    await enqueueAndClose(backup, 1)
    const store = openStore({ file })
    await store.ready()
    const before = await store.examine()

    renameSync(backup, file)

    expect(before.map(({ status }) => status)).toEqual(['ok'])
    expect(await store.examine()).toContainEqual(
      expect.objectContaining({
        name: 'file',
        status: 'warn',
        text: expect.stringContaining('was replaced'),
      }),
    )
  })

  it('is reported by a store on the new file, with the processes that hold the old one', async (t) => {
    if (process.platform !== 'linux') return t.skip('only Linux lists the open files of a process')
    const file = freshFile()
    const backup = freshFile()
    await enqueueAndClose(backup, 1)
    await openStore({ file }).ready()
    renameSync(backup, file)

    const findings = await openStore({ file })
      .ready()
      .then(() => openStore({ file }).examine())

    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'file',
        status: 'warn',
        text: expect.stringContaining(`${process.pid}`),
      }),
    )
  })
})
