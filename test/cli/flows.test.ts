import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bury, createSkep, flow, type Handler, queue, type Skep, silentLogger } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { type Ended, project, skep, start } from './cli.ts'

interface Order {
  readonly n: number
}

const reserve = queue<Order, { items: readonly number[] }>('reserve')
const pack = queue<number, number>('pack')
const charge = queue<Order, { paid: boolean }>('charge')
const screen = queue<Order, { risk: number }>('screen')

const order = flow('order', (f) =>
  f
    .step(reserve)
    .parallel({ money: (g) => g.step(charge).signal('approval', { timeout: '2d' }), risk: screen })
    .each('boxes', pack, ({ state }) => state.items),
)
const broken = flow('broken', (f) => f.step(reserve).each('boxes', pack, ({ state }) => state.items))

const handlers: readonly Handler[] = [
  reserve.handle(({ payload }) => ({ items: [1, payload.n] })),
  charge.handle(() => ({ paid: true })),
  screen.handle(() => ({ risk: 0 })),
  pack.handle(({ payload }) => (payload === 13 ? bury('No box is that small.') : payload)),
]

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

/** A database of its own with one run that waits for a signal, and one that failed. */
async function scene(): Promise<{ cwd: string; waiting: string; failed: string; branch: string }> {
  const cwd = project()
  const client: Skep = createSkep({
    store: sqliteStore({ file: join(cwd, 'jobs.db') }),
    logger: silentLogger,
  })
  try {
    client.worker([order, broken, ...handlers])
    const waiting = await client.start(order, { n: 1 }, { attributes: { orderId: 62 } })
    const failed = await client.start(broken, { n: 13 })
    await failed.result().catch(() => {})
    const isAt = async (): Promise<string | undefined> => {
      const { runs } = await client.runs.list({ root: waiting.id })
      return runs.find(({ position, id }) => id !== waiting.id && position.step === 'approval')?.id
    }
    let branch: string | undefined
    while (branch === undefined || (await waiting.get())?.position.waits?.done !== 1) branch = await isAt()
    return { cwd, waiting: waiting.id, failed: failed.id, branch }
  } finally {
    await client.close()
  }
}

const DB = ['--db', 'jobs.db']

describe('skep flows', () => {
  it('lists, shows and draws runs', async () => {
    const { cwd, waiting, failed, branch } = await scene()
    const run = (...args: readonly string[]): Promise<Ended> => skep(['flows', ...args, ...DB], { cwd })

    const listed = await run()
    const filtered = json(await run('list', '--attribute', 'orderId=62', '--json'))
    const ofStatus = await run('list', '--flow', 'broken', '--status', 'failed', '-q')
    const paged = json(await run('list', '--limit', '1', '--json'))
    const next = json(await run('list', '--limit', '1', '--cursor', paged.cursor, '--json'))
    expect(listed.stdout).toMatch(/broken +1 +0 +0 +1 +0\norder +1 +1 +0 +0 +0\n/)
    expect(listed.stdout).toMatch(
      new RegExp(`${waiting}  order v1 +running  money-risk +branches, 1 of 2 done +50%.*orderId:62`),
    )
    expect(listed.stdout).toMatch(new RegExp(`${failed}  broken v1 +failed +boxes +No box is that small`))
    expect(filtered).toMatchObject({ isAll: true, cursor: null, runs: [{ id: waiting, progress: 0.5 }] })
    expect(ofStatus.stdout).toBe(`${failed}\n`)
    expect([paged.runs[0].id, next.runs[0].id, next.cursor]).toEqual([failed, waiting, null])

    const shown = await run('get', failed)
    const both = json(await run('get', waiting, '01a31c50-0000-7000-8000-000000000001', '--json'))
    const dead = json(await run('get', failed, '--json')).runs[0].members.failed[0].id
    expect(shown.stdout).toMatch(new RegExp(`failed +job ${dead} pack dead No box is that small`))
    expect(shown.stdout).toContain(`retry job ${dead}`)
    expect(shown.stdout).toMatch(/waits for +jobs, 1 of 2 done, 1 failed/)
    expect(both).toMatchObject({
      runs: [
        {
          id: waiting,
          position: { step: 'money-risk', waits: { kind: 'branches' } },
          members: { open: [{ id: branch, kind: 'run', name: 'order:money', state: 'running' }] },
        },
      ],
      missing: ['01a31c50-0000-7000-8000-000000000001'],
    })

    const graph = await run('graph', waiting)
    expect(graph.stdout.split('\n').slice(2)).toEqual([
      expect.stringMatching(/^ {14}┌─ money ─▶ ✔ charge ─▶ ⏱ signal approval in 1d 23h ─┐$/),
      expect.stringMatching(/^✔ reserve ──▶ ┤ {52}├──▶ · boxes ×n$/),
      expect.stringMatching(/^ {14}└─────────▶ ✔ risk ─{34}┘$/),
      '',
    ])
    expect((await run('graph', branch)).stdout).toBe(graph.stdout)
    expect((await run('graph', failed)).stdout).toMatch(/\n✔ reserve ──▶ ✗ boxes 1\/2 1 failed\n$/)
    const ascii = await skep(['flows', 'graph', 'order', ...DB], { cwd, env: { LC_ALL: 'C' } })
    expect(ascii.stdout).toBe(
      [
        'order v1',
        '',
        '            +- money -> charge -> @ signal approval -+',
        'reserve --> +                                        +--> boxes xn',
        '            +---------> risk ------------------------+',
        '',
      ].join('\n'),
    )
    const narrow = await skep(['flows', 'graph', 'order@1', ...DB], { cwd, env: { COLUMNS: '30' } })
    expect(narrow.stdout).toBe(
      'order v1\n\nreserve\nmoney-risk\n├─▶ money\n│   charge\n│   ⏱ signal approval\n└─▶ risk\nboxes ×n\n',
    )
    expect(json(await run('graph', 'order', '--json'))).toMatchObject({
      name: 'order',
      outline: { steps: [{ name: 'reserve' }, { name: 'money-risk' }, { name: 'boxes' }] },
    })

    const why = await skep(['jobs', 'explain', waiting, dead, ...DB], { cwd })
    expect(why.code).toBe(0)
    expect(why.stdout).toMatch(
      /flow order running\n +waits-for +Waiting at step "money-risk" for 1 of 2 members/,
    )
    expect(why.stdout).toMatch(/member-of +Member 2 of 2 of group/)
  })

  it('signals, cancels and retries them', async () => {
    const { cwd, waiting, failed, branch } = await scene()
    const run = (...args: readonly string[]): Promise<Ended> => skep(['flows', ...args, ...DB], { cwd })

    const elsewhere = await run('signal', waiting, 'approval')
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      2,
      expect.stringContaining(`skep flows signal ${branch}`),
    ])
    expect((await run('signal', branch, 'aproval')).stderr).toContain('Did you mean "approval"?')
    expect((await run('signal', branch, 'approval', '--dry-run')).stdout).toBe(
      `Would signal ${branch} approval.\n`,
    )
    const told = json(await run('signal', branch, 'approval', '-d', '{"by":"Ada"}', '--json'))
    expect(told).toEqual({ id: branch, signal: 'approval', dryRun: false, told: true })

    const wrong = await run('retry', failed, '--from', 'boxs')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('Flow "broken" has no step "boxs". Did you mean "boxes"?')
    expect(wrong.stderr).toContain('It has: reserve, boxes')
    expect((await run('retry', failed, '--dry-run')).stdout).toBe('Would retry 1 run.\n')
    expect((await run('cancel', failed)).code).toBe(4)
    expect((await run('retry', failed, '--from', 'reserve')).stdout).toBe('Retried 1 run.\n')
    expect((await run('retry', failed)).stderr).toContain('it is running')

    const cancelled = await run('cancel', waiting, '--reason', 'Too late.', '--json')
    expect(json(cancelled)).toEqual({ action: 'cancel', dryRun: false, changed: [waiting], refused: [] })
    const after = json(await run('get', waiting, '--json')).runs[0]
    expect([after.status, after.failure.message]).toEqual(['cancelled', 'Too late.'])
    expect((await run('signal', branch, 'approval')).code).toBe(4)
  })

  it('says what is wrong, with the right exit code', async () => {
    const { cwd } = await scene()
    const nobody = '01a31c50-0000-7000-8000-000000000001'
    const cases: [string[], number, RegExp][] = [
      [['graph', 'ordr'], 3, /Did you mean "order"\?/],
      [['graph', 'order@7'], 3, /There is no flow "order@7"/],
      [['graph', nobody], 3, /There is no run/],
      [['graph'], 2, /Which run, or which flow/],
      [['get', nobody], 3, /not found/],
      [['cancel', nobody], 3, /no such run/],
      [['cancel'], 2, /Which run/],
      [['list', '--status', 'runing'], 2, /Did you mean "running"/],
      [['list', '--attribute', 'x'], 2, /name=value/],
      [['list', '--from', 'x'], 2, /belongs to skep flows retry/],
      [['grph'], 2, /Did you mean "skep flows graph"/],
    ]
    for (const [args, code, text] of cases) {
      const ended = await skep(['flows', ...args, ...DB], { cwd })
      expect([args, ended.code, ended.stderr]).toEqual([args, code, expect.stringMatching(text)])
    }
  })

  it('moves runs on with the flows of a config', async () => {
    const cwd = project({
      'skep.config.mjs': `
        import { defineConfig, flow, queue } from 'skep'
        import { sqliteStore } from 'skep/sqlite'
        const a = queue('a')
        const two = flow('two', (f) => f.step(a).step(a, { name: 'again' }))
        export default defineConfig({ store: () => sqliteStore({ file: 'jobs.db' }), handlers: [two, a.handle(() => ({}))] })`,
    })
    const a = queue<object>('a')
    const two = flow('two', (f) => f.step(a).step(a, { name: 'again' }))
    const client = createSkep({ store: sqliteStore({ file: join(cwd, 'jobs.db') }), logger: silentLogger })
    const run = await client.start(two, {})

    const worker = start(['worker', '--json'], { cwd })
    await run.result({ timeout: '60s' })
    await client.close()
    worker.child.kill('SIGTERM')

    expect(JSON.parse((await worker.ended).stdout.split('\n')[0] ?? '')).toMatchObject({
      event: 'started',
      queues: ['a'],
      flows: ['two v1'],
    })
  })
})
