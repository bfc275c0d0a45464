import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, skep } from './cli.ts'

function findings({ stdout }: Ended): { name: string; status: string; detail: string; fix?: string }[] {
  return JSON.parse(stdout).findings
}

describe('skep doctor', () => {
  it('says what the database is worth, and what waits for nobody', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    await skep(['enqueue', 'orphan', '-d', '1'], { cwd })

    const asJson = await skep(['doctor', '--json'], { cwd })
    const asText = await skep(['doctor'], { cwd })

    expect(asJson.code).toBe(0)
    expect(findings(asJson)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'config', status: 'ok', detail: 'skep.config.ts, 3 handlers' }),
        expect.objectContaining({ name: 'schema', status: 'ok' }),
        expect.objectContaining({
          name: 'durability',
          status: 'ok',
          detail: expect.stringContaining('SQLite 3.'),
        }),
        expect.objectContaining({ name: 'notifier', status: 'ok' }),
        expect.objectContaining({
          name: 'queues',
          status: 'warn',
          detail: expect.stringContaining('orphan'),
        }),
      ]),
    )
    expect(asText.stdout).toMatch(
      /^warn {2}queues +orphan: 1 job ready, but no worker handles the queue\n +→ Start a worker/m,
    )
  })

  it('fails when the database cannot be read', async () => {
    const cwd = project({ 'broken.db': 'this is no database at all, but it is long enough. '.repeat(50) })

    const { code, stdout } = await skep(['doctor', '--db', 'broken.db'], { cwd })

    expect(stdout).toMatch(/^fail {2}database .*broken\.db/m)
    expect(code).toBe(1)
  })

  it('fails when the config cannot be read', async () => {
    const cwd = project()
    writeFileSync(join(cwd, 'skep.config.ts'), 'export default 1')

    const ended = await skep(['doctor', '--json'], { cwd })

    expect(findings(ended)).toContainEqual(expect.objectContaining({ name: 'config', status: 'fail' }))
    expect(ended.code).toBe(1)
  })
})

describe('skep bench', () => {
  it('measures, and leaves nothing behind', async () => {
    const cwd = project()

    const ended = await skep(['bench', '--jobs', '200', '--json', '--db', 'bench.db'], { cwd })
    const table = await skep(['bench', '--jobs', '50', '--db', 'bench.db'], { cwd })
    const queues = await skep(['queues', '--json', '--db', 'bench.db'], { cwd })

    const { measures } = JSON.parse(ended.stdout)
    expect(ended.code).toBe(0)
    expect(measures).toHaveLength(4)
    expect(measures.at(-1)).toMatchObject({ name: 'drain, concurrency 100', jobs: 620 })
    for (const { perSecond } of measures) expect(perSecond).toBeGreaterThan(0)
    expect(table.stdout).toMatch(/^MEASURE .*JOBS\/S/)
    expect(JSON.parse(queues.stdout).queues).toEqual([])
  })
})

describe('skep migrate', () => {
  it('finds a SQLite file that migrates itself up to date', async () => {
    const cwd = project()

    const up = await skep(['migrate', '--db', 'new.db', '--json'], { cwd })
    const again = await skep(['migrate', 'up', '--db', 'new.db', '--json'], { cwd })
    const status = await skep(['migrate', 'status', '--db', 'new.db', '--json'], { cwd })

    expect(JSON.parse(up.stdout).applied).not.toEqual([])
    expect(JSON.parse(again.stdout)).toEqual({ store: 'new.db', applied: [] })
    expect(JSON.parse(status.stdout)).toMatchObject({ upToDate: true })
  })
})
