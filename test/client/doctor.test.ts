import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkep, queue, type Store } from 'skep'
import { memoryStore } from 'skep/memory'
import { sqliteStore } from 'skep/sqlite'
import { virtualRuntime } from 'skep/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

async function findings(store: Store) {
  const skep = createSkep({ store })
  onTestFinished(() => skep.close())
  return (await skep.doctor()).findings
}

describe('the doctor', () => {
  it('tells what the file of a SQLite store takes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skep-doctor-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = sqliteStore({ file: join(folder, 'jobs.db') })

    const storage = (await findings(store)).filter(({ name }) => name === 'storage')

    expect(storage).toMatchObject([{ status: 'ok', fix: null }])
    expect(storage[0]?.text).toMatch(/^[\d.]+ KB, [\d.]+ K?B of it free for new jobs; [\d.]+ [KM]?B of log$/)
  })

  it('tells the rest when a store cannot look at its database', async () => {
    const store = memoryStore()
    const found = await findings({ ...store, examine: () => Promise.reject(new Error('permission denied')) })

    expect(found.filter(({ status }) => status === 'warn').map(({ text }) => text)).toContain(
      'The database could not be checked: permission denied',
    )
    expect(found.map(({ name }) => name)).toContain('workers')
  })

  it('notices that nobody takes back what dead workers held', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const store = memoryStore({ runtime })
    const skep = createSkep({ store, runtime })
    const job = await skep.enqueue(queue('mail'), 1)
    const claim = { limit: 1, workerId: 'w', token: runtime.uuid(), leaseMs: 30_000 }
    await store.claim({ sources: [{ space: 'default', queue: 'mail', limit: 1 }], ...claim })
    const upkeep = async () => (await skep.doctor()).findings.filter(({ name }) => name === 'upkeep')

    await runtime.advance(60_000)
    expect(await upkeep()).toEqual([])
    await runtime.advance(60_000)

    expect(await upkeep()).toMatchObject([{ status: 'warn', text: expect.stringContaining(job.id) }])
  })
})
