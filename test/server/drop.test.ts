import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { startServer } from './support.ts'

const mail = queue<number>('mail')

describe('queues.drop', () => {
  it('removes a queue from lists, metrics and the overview of queues, and is written to the audit', async () => {
    const { skep, call, get } = await startServer()
    await skep.enqueueMany(mail, [1, 2, 3])
    await skep.jobs.bury((await skep.jobs.list({ queue: 'mail', limit: 1 })).jobs.map(({ id }) => id))
    await call('queues.limit', { queue: 'mail', limits: { concurrency: 2 } })

    await expect(call('queues.drop', { queue: 'mail', force: true })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('confirm'),
    })
    await expect(call('queues.drop', { queue: 'mail', confirm: 'mail' })).rejects.toMatchObject({
      status: 409,
      code: 'QUEUE_IN_USE',
    })
    const dry = await call('queues.drop', { queue: 'mail', force: true, dryRun: true })
    expect((await call('queues.list', {})).queues).toMatchObject([
      { queue: 'mail', hold: null, limited: true },
    ])
    const dropped = await call('queues.drop', { queue: 'mail', force: true, confirm: 'mail' })

    expect(dropped).toMatchObject({
      known: true,
      jobs: 3,
      states: { ready: 2, dead: 1 },
      limits: 1,
      holds: 0,
    })
    expect(dry).toEqual({ ...dropped, dryRun: true })
    expect((await call('queues.list', {})).queues).toEqual([])
    expect((await call('limits.list', {})).limits).toEqual([])
    expect((await call('holds.list', {})).holds).toEqual([])
    expect(await (await get('/metrics')).text()).not.toContain('queue="mail"')
    const { entries } = await call('audit.list', { what: 'queues.drop' })
    expect(entries.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['queue mail with its waiting jobs', 'ok'],
      ['dry run: queue mail with its waiting jobs', 'ok'],
      ['queue mail', 'failed'],
      ['queue mail with its waiting jobs', 'failed'],
    ])
  })

  it('needs the scope admin', async () => {
    const secret = (scope: string): string => `token-of-${scope}-0123456789-0123456789-0123456789`
    const { skep, call } = await startServer({
      tokens: (['operate', 'admin'] as const).map((scope) => ({
        name: scope,
        token: secret(scope),
        scopes: [scope],
      })),
    })
    await skep.enqueue(mail, 1)
    const input = { queue: 'mail', force: true, confirm: 'mail' }

    const as = (scope: string): Readonly<Record<string, string>> => ({
      authorization: `Bearer ${secret(scope)}`,
    })
    await expect(call('queues.drop', input, as('operate'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await call('queues.drop', input, as('admin'))).toMatchObject({ jobs: 1 })
  })
})
