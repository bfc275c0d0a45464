/** A caller of some queues: for it nothing else exists, in every list, count, search and stream; and its own things are all there. */
import { createSkep, queue, type Skep, silentLogger, type Worker } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { createServer, type SkepServer } from '../../../src/server.ts'
import type { Things } from './samples.ts'
import { makeThings } from './things.ts'

const NARROW = 'token-of-the-narrow-one-nobody-guesses'
const BLIND = 'token-of-the-blind-one-nobody-guesses'
const SECRET = 'hidden-9f2c'

let skep: Skep
let server: SkepServer
let url: string
let own: Things
let hidden: Things
const workers: Worker[] = []

beforeAll(async () => {
  skep = createSkep({ store: memoryStore(), logger: silentLogger })
  const credential = { scopes: ['operate'] as const, queues: ['mail', 'mail.*'] }
  server = createServer(skep, {
    logger: silentLogger,
    rates: { views: null },
    tokens: [
      { name: 'narrow', token: NARROW, payloads: true, ...credential },
      { name: 'blind', token: BLIND, payloads: false, ...credential },
    ],
  })
  url = (await server.listen({ port: 0 })).url
  const made = await Promise.all([
    makeThings(skep, server, { name: 'mail', marker: 'mine', by: 'narrow' }),
    makeThings(skep, server, { name: `report-${SECRET}`, marker: SECRET, by: 'somebody' }),
  ])
  own = made[0].things
  hidden = made[1].things
  workers.push(...made.map(({ worker }) => worker))
  const lanes = [queue<number>('mail.lanes'), queue<number>(`${hidden.queue}.lanes`)]
  for (const line of lanes) {
    await skep.limits.set(line.name, { lanes: { concurrency: 1 } })
    await skep.enqueue(line, 1, { lane: 'a' })
  }
  await skep.queues.pause('mail.*', { reason: 'mine' })
  await skep.queues.pause(`report-${SECRET}*`, { reason: SECRET })
  await skep.queues.pause(`report-${SECRET}.lanes`, { reason: SECRET })
}, 60_000)

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await server.close()
  await skep.close()
})

async function ask<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  token = NARROW,
): Promise<OutputOf<Name>> {
  const response = await fetch(`${url}/api/v1/call/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(input),
  })
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.not.stringContaining(SECRET)])
  return JSON.parse(text) as OutputOf<Name>
}

/** How the one who sees no payloads is refused; undefined: it is not. */
async function refusal<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
): Promise<string | undefined> {
  const response = await fetch(`${url}/api/v1/call/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${BLIND}` },
    body: JSON.stringify(input),
  })
  const { error } = (await response.json()) as { readonly error?: { readonly code: string } }
  return error?.code
}

const idsOf = (all: readonly { readonly id: string }[]): readonly string[] => all.map(({ id }) => id).sort()
const isMine = (name: string): boolean => name === 'mail' || name.startsWith('mail.')

describe('a caller of some queues', () => {
  it('finds its jobs and counts them, however it asks', async () => {
    const all = (await skep.jobs.list({ limit: 200 })).jobs
    const mine = all.filter(({ queue: name }) => isMine(name))
    expect(mine.length).toBeGreaterThan(3)
    expect(mine.length).toBeLessThan(all.length)

    for (const query of ['', 'queue:*', `queue:mail*,${hidden.queue}*`, '-queue:nothing']) {
      const { jobs } = await ask('jobs.list', { query, limit: 200 })
      expect([query, idsOf(jobs)]).toEqual([query, idsOf(mine)])
      expect(await ask('jobs.count', { query })).toMatchObject({ count: mine.length })
    }
    // A search into payloads looks into its own alone.
    expect(await ask('jobs.count', { query: `payload.marker:${SECRET}` })).toMatchObject({ count: 0 })
    expect((await ask('jobs.count', { query: 'payload.marker:mine' })).count).toBeGreaterThan(0)
    const byFree = await ask('jobs.list', { query: 'mine' })
    expect(byFree.jobs.length).toBeGreaterThan(0)
  })

  it('may not ask for what is in payloads that it does not see', async () => {
    const asks = ['payload.marker:mine', 'result:*', 'mine', '"mine"', '-mine', 'state:delayed mine']
    for (const query of asks) {
      const said = await Promise.all([
        refusal('jobs.list', { query }),
        refusal('jobs.count', { query }),
        refusal('bulk.start', { action: 'cancel', query }),
      ])
      expect([query, ...said]).toEqual([query, 'FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'])
    }
    const { jobs } = await ask('jobs.list', {}, BLIND)
    expect(jobs.length).toBeGreaterThan(0)
    expect(jobs.every(({ payload }) => payload === null)).toBe(true)
  })

  it('sees its queues with what they have, and their lanes', async () => {
    const { queues } = await ask('queues.list', {})
    const real = (await skep.queues.list()).filter(({ queue: name }) => isMine(name))
    expect(queues.map((one) => one.queue).sort()).toEqual(real.map((one) => one.queue).sort())
    expect((await ask('queues.lanes', { queue: 'mail.lanes' })).lanes.length).toBeGreaterThan(0)

    const { totals, queues: count, receivers, workers: live } = await ask('overview.get', {})
    const delayed = real.reduce((sum, one) => sum + one.delayed, 0)
    expect([totals.delayed, count, receivers, live.live]).toEqual([delayed, real.length, 1, 1])
  })

  it('sees its schedules, runs, flows, errors, workers, receivers, bulk actions, views and holds', async () => {
    expect(idsOf((await ask('schedules.list', {})).schedules)).toEqual([own.schedule])
    expect(idsOf((await ask('runs.list', {})).runs)).toEqual([own.run])
    expect((await ask('flows.list', {})).flows.map(({ name }) => name)).toEqual(['mail.flow'])
    expect(idsOf((await ask('errors.list', {})).groups)).toEqual([own.errorGroup])
    expect(idsOf((await ask('workers.list', {})).workers)).toEqual([own.worker])
    expect(idsOf((await ask('receivers.list', {})).receivers)).toEqual([own.receiver])
    expect(idsOf((await ask('bulk.list', {})).bulks)).toEqual([own.bulk])
    expect(idsOf((await ask('views.list', {})).views)).toEqual([own.view])
    expect((await ask('holds.list', {})).holds.map((hold) => hold.queue)).toEqual(['mail.*'])
    expect((await ask('series.get', { queue: 'mail' })).enqueued.length).toBeGreaterThan(0)
  })

  it('has views of its own under names that others use', async () => {
    const { id } = await ask('views.put', { name: SECRET, query: 'queue:mail' }).catch(async () => {
      // Its own words come back to it: the check above is for what others wrote.
      const { views } = (await (
        await fetch(`${url}/api/v1/views`, { headers: { authorization: `Bearer ${NARROW}` } })
      ).json()) as OutputOf<'views.list'>
      return views.find(({ name }) => name === SECRET) as { readonly id: string }
    })
    expect(id).not.toBe(hidden.view)
    const stored = await skep.records.getRecords({ scope: 'default', kind: 'view', ids: [hidden.view] })
    expect(stored.records[0]?.body).toContain('somebody')
  })

  it('acts on its own jobs alone, however wide its query is', async () => {
    const { id } = await ask('bulk.start', { action: 'cancel', query: 'state:delayed' })
    await expect.poll(async () => (await skep.bulk.get(id))?.status, { timeout: 20_000 }).toBe('done')
    expect((await skep.jobs.get(own.job))?.state).toBe('cancelled')
    expect((await skep.jobs.get(hidden.job))?.state).toBe('delayed')
  })

  it('moves nothing into a queue that is not its own', async () => {
    const move = { action: 'move', query: 'queue:mail', queue: hidden.queue } as const
    expect(await refusal('bulk.start', move)).toBe('FORBIDDEN')
    const known = (await skep.bulk.list()).filter(({ action }) => action === 'move')
    expect(known).toEqual([])
  })

  it('hears of its queues alone', async () => {
    const stop = new AbortController()
    const response = await fetch(`${url}/api/v1/events`, {
      headers: { authorization: `Bearer ${NARROW}` },
      signal: stop.signal,
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(part, { stream: true })
      if (text.includes('event: counts') && text.endsWith('\n\n')) break
    }
    stop.abort()
    expect(text).toContain('"queue":"mail"')
    expect(text).not.toContain(SECRET)
    const ofJob = await fetch(`${url}/api/v1/events?job=${hidden.job}`, {
      headers: { authorization: `Bearer ${NARROW}` },
    })
    expect(ofJob.status).toBe(404)
  }, 30_000)
})

it('is refused filters, changes and holds of queues that are not its own', async () => {
  expect([
    await refusal('queues.list', { queues: [hidden.queue] }),
    await refusal('jobs.list', { queue: hidden.queue }),
    await refusal('jobs.change', { action: 'promote', queue: hidden.queue }),
    await refusal('jobs.change', { action: 'promote', queue: 'mail', text: SECRET }),
    await refusal('holds.pause', { queue: 'mail', everywhere: true }),
    await refusal('jobs.list', { queue: 'mail', states: ['dead'] }),
  ]).toEqual([...Array.from({ length: 5 }, () => 'FORBIDDEN'), undefined])
})
