import { describe, expect, it } from 'vitest'
import { DUE_READS } from '../../src/stores/sqlite/schedules.ts'
import { freshFile, openHandle, openStore } from './support.ts'

describe('the look at what is due', () => {
  it('reads the index in its order, for schedules of both kinds', async () => {
    const file = freshFile()
    await openStore({ file }).ready()
    const db = openHandle(file)
    const planOf = (sql: string): string => {
      const values = Array.from({ length: sql.split('?').length - 1 }, () => '[]')
      const rows = db.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]
      return rows.map(({ detail }) => detail).join('\n')
    }
    for (const { due, next } of Object.values(DUE_READS)) {
      for (const plan of [planOf(due), planOf(next)]) {
        expect(plan).toMatch(
          /SEARCH skep_schedules USING (COVERING )?INDEX skep_schedules_due \(space=\? AND dynamic=\? AND next_at/,
        )
        expect(plan).not.toMatch(/SCAN skep_schedules|TEMP B-TREE/)
      }
    }
  })
})
