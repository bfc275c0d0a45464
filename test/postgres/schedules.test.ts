import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PutSchedule } from '../../src/store/schedules.ts'
import { createWorld, eventually } from './world.ts'

const NOW = 1_800_000_000_000

function drafts(count: number): PutSchedule[] {
  return Array.from({ length: count }, (_, n) => ({
    space: 'acme',
    id: `s${n}`,
    revision: `r${n}`,
    spec: '{}',
    dynamic: n % 10 === 0,
    declaredBy: null,
    nextAt: NOW + (n + 1) * 1_000,
    expect: null,
  }))
}

describe('ten thousand schedules', () => {
  it.each(['that nobody analysed', 'that were analysed'])(
    '%s: the look at what is due reads the index, and no more than is due',
    async (which) => {
      const world = await createWorld()
      const store = await world.open({ migrate: true, listen: false })
      const all = drafts(10_000)
      for (let n = 0; n < 10; n++)
        await store.putSchedules({ schedules: all.slice(n * 1_000, (n + 1) * 1_000), now: NOW })
      if (which === 'that were analysed') await world.sql('analyze skep.schedules')
      const client = new pg.Client({ connectionString: world.url })
      await client.connect()
      onTestFinished(() => client.end())
      const plans: string[] = []
      client.on('notice', ({ message }) => void plans.push(message ?? ''))
      await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set client_min_messages = log;
      set auto_explain.log_nested_statements = on; set auto_explain.log_analyze = on; set auto_explain.log_timing = off`)

      const due = `select skep.due_schedules('acme', 200, '{s0,s10}', '{s3}', ${NOW + 11_000})`
      const { rows } = await client.query<{ due_schedules: string }>(due)

      const reply = JSON.parse(rows[0]?.due_schedules as string) as { next: number; rows: { id: string }[] }
      expect(reply.rows.map(({ id }) => id).toSorted()).toEqual([
        's0',
        's1',
        's10',
        's2',
        's4',
        's5',
        's6',
        's7',
        's8',
        's9',
      ])
      expect(reply.next).toBe(NOW + 12_000)
      const told = plans.filter((text) => text.includes('plan:')).join('\n')
      const ways = told.match(/(\w+ )*Scan( using \w+)? on schedules\b/g) ?? []
      expect([...new Set(ways.map((way) => way.trim().replace('Only ', '')))]).toEqual([
        'Index Scan using schedules_due on schedules',
      ])
      expect(told).not.toMatch(/Seq Scan|Bitmap|Sort Key/)
      const read = [...told.matchAll(/Scan using schedules_due .*?rows=(\d+)(?:\.\d+)? loops=1\)/g)].map(
        ([, rows]) => Number(rows),
      )
      expect(read.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(14)
    },
  )
})

describe('schedules of one call', () => {
  it('are locked in one order, whatever the order of the call, and answered in that', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const [first, second] = drafts(2) as [PutSchedule, PutSchedule]
    await store.putSchedules({ schedules: [first, second], now: NOW })
    const client = new pg.Client({ connectionString: world.url })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(`begin; select from skep.schedules where id = 's0' for update`)

    const changed = {
      ...second,
      revision: 'new',
      spec: '[]',
      expect: { revision: 'r1', nextAt: second.nextAt },
    }
    const put = store.putSchedules({
      schedules: [changed, { ...first, spec: '[]', revision: 'x' }],
      now: NOW,
    })
    await eventually('the call to wait', async () => {
      const [row] = await world.sql('select count(*)::integer as n from pg_locks where not granted')
      return row?.['n'] !== 0
    })
    // Had the call begun with the second one, nobody could have it now.
    await world.sql(`select from skep.schedules where id = 's1' for update nowait`)
    await client.query('commit')

    expect((await put).results).toEqual(['ok', 'refused'])
  })
})
