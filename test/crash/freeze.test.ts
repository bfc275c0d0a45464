import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { Scene } from './scene.ts'
import type { Slot } from './slot.ts'

let scene: Scene | null = null
afterEach(async () => {
  await scene?.close()
  scene = null
})

afterAll(() => Scene.closeShared())

describe.each(['sqlite', 'postgres', 'redis'] as const)(
  'A worker frozen for longer than its lease, on %s',
  (store) => {
    it('loses its job to another worker, and what it says of it afterwards is refused', async () => {
      scene = await Scene.open(store, { mortal: false })
      const frozen = await scene.worker('w1')
      const job = await scene.enqueue('kept', { ms: 800 })
      await scene.written(({ f, proc }) => f === 'start' && proc === 'w1#1')

      await freezeOutsideOfTransactions(scene, frozen)
      await scene.worker('w2')
      await job.result()
      frozen.thaw()
      await scene.written(({ f, proc }) => f === 'end' && proc === 'w1#1')
      const { report, audit, final } = await scene.judge()

      expect(report.violations).toEqual([])
      const starts = scene.records().filter(({ f }) => f === 'start')
      expect(starts.map(({ proc }) => proc)).toEqual(['w1#1', 'w2#1'])
      const settles = scene.records().flatMap((record) => (record.f === 'settle' ? [record] : []))
      const accepted = settles.filter(({ status, to }) => status === 'ok' && to === 'done')
      expect(accepted.map(({ proc }) => proc)).toEqual(['w2#1'])
      expect(settles.filter(({ proc, status }) => proc === 'w1#1' && status === 'ok')).toEqual([])
      expect(audit.filter(({ after }) => after?.state === 'done')).toHaveLength(1)
      expect(final.get(job.id)).toMatchObject({ state: 'done', counters: { starts: 2, lost: 1 } })
    })
  },
)

/**
 * Whoever is frozen in the middle of a transaction on SQLite holds the only right to write, and nobody can work until
 * it wakes up. That is not what this is about.
 */
async function freezeOutsideOfTransactions({ stage }: Scene, slot: Slot): Promise<void> {
  for (;;) {
    slot.freeze()
    const address = stage.address(slot.name)
    if (!('file' in address) || canWrite(address.file)) return
    slot.thaw()
    await sleep(20)
  }
}

function canWrite(file: string): boolean {
  const db = new DatabaseSync(file, { timeout: 300 })
  try {
    db.exec('begin immediate; rollback')
    return true
  } catch {
    return false
  } finally {
    db.close()
  }
}
