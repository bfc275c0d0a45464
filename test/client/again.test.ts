import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

interface Mail {
  readonly to: string
}
const mail = queue<Mail>('mail')
const strict = queue<Mail>('strict', { priorityMode: 'strict' })
const UNKNOWN = '019a8f3c-2f1e-7b7a-8c33-5d1f0a9b7e21'

describe.each(STORES)('a job that is enqueued again in %s', (name) => {
  it('is a new job with all that the other had, except its unique key', async () => {
    const skep = openSkep(await openStore(name))
    const first = await skep.enqueue(
      strict,
      { to: 'ada' },
      {
        headers: { tenant: 'x' },
        lane: 'acme',
        cost: 3,
        priority: 7,
        unique: 'key',
        timeout: '5s',
        delay: '1h',
      },
    )

    const copy = await skep.jobs.copy(first.id, { by: 'eve' })

    expect(copy.id).not.toBe(first.id)
    expect(copy.duplicate).toBe(false)
    expect(await copy.get()).toMatchObject({
      queue: 'strict',
      state: 'ready',
      payload: { to: 'ada' },
      headers: { tenant: 'x', 'skep-copy-of': first.id, 'skep-copied-by': 'eve' },
      lane: 'acme',
      cost: 3,
      priority: 7,
      unique: null,
    })
    expect((await skep.jobs.list({ query: `copy:${first.id}` })).jobs.map(({ id }) => id)).toEqual([copy.id])
  })

  it('may have another payload and another queue, and the other may be in any state', async () => {
    const skep = openSkep(await openStore(name))
    const first = await skep.enqueue(mail, { to: 'ada' })
    await skep.jobs.cancel(first.id)

    const copy = await skep.jobs.copy(first.id, { payload: { to: 'bob' }, queue: 'other' })

    expect(await copy.get()).toMatchObject({ queue: 'other', payload: { to: 'bob' }, state: 'ready' })
    expect(await first.get()).toMatchObject({ state: 'cancelled', payload: { to: 'ada' } })
  })
})

describe('a job that is enqueued again', () => {
  it('keeps its time limit and runs', async () => {
    const scene = openScene()
    const seen: unknown[] = []
    scene.skep.worker([
      mail.handle(({ payload, headers }) => void seen.push([payload.to, headers['skep-copy-of'] ?? null])),
    ])
    const first = await scene.skep.enqueue(mail, { to: 'ada' }, { timeout: '5s', retention: '1h' })
    await scene.through(first.result())
    const copy = await scene.skep.jobs.copy(first.id)
    await scene.through(copy.result())

    expect(seen).toEqual([
      ['ada', null],
      ['ada', first.id],
    ])
    expect((await scene.job(copy.id)).overrides).toBe((await scene.job(first.id)).overrides)
  })

  it('of a chain brings nothing after it', async () => {
    const scene = openScene()
    const { skep } = scene
    const ran: string[] = []
    skep.worker([mail.handle(({ payload }) => void ran.push(payload.to))])
    await skep.groups.chain([mail.job({ to: 'one' }), mail.job({ to: 'two' })])
    await scene.until(() => ran.length === 2)
    const first = (await skep.jobs.list({ query: 'payload.to:one' })).jobs[0]

    const copy = await skep.jobs.copy(first?.id ?? '')
    await scene.through(copy.result())
    await scene.advance(10_000)

    expect(ran).toEqual(['one', 'two', 'one'])
  })

  it('must exist, and what replaces it must be good', async () => {
    const { skep } = openScene()
    const { id } = await skep.enqueue(mail, { to: 'ada' })

    expect(await codeOf(skep.jobs.copy(UNKNOWN))).toBe('JOB_NOT_FOUND')
    expect(await codeOf(skep.jobs.copy('x'))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.jobs.copy(id, { queue: 'not a name' }))).toBe('NAME_INVALID')
    expect(await codeOf(skep.jobs.copy(id, { payload: { n: 1n } }))).toBe('PAYLOAD_NOT_JSON')
    expect(await codeOf(skep.jobs.copy(id, { payload: 'x'.repeat(300_000) }))).toBe('PAYLOAD_TOO_LARGE')
    expect(await codeOf(skep.jobs.copy(id, { queue: 'flow:order' }))).toBe('OPTION_INVALID')
    expect((await skep.jobs.count('')).count).toBe(1)
  })
})
