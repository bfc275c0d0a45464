/** What happened to a job that was retried manually: its timeline keeps all entries, with the actor and the time. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { fixed, queue, retry, type Skep, type Store, silentLogger } from '../../src/index.ts'
import { createServer, type TimelineEntry } from '../../src/server.ts'
import { openSkep, openStore, STORES } from '../client/support/stores.ts'

const shaky = queue<string>('shaky', { onError: retry(1, fixed(0)) })
const TOKENS = { ada: 'a-token-of-ada-that-is-long-enough', ben: 'a-token-of-ben-that-is-long-enough' }

interface Desk {
  readonly skep: Skep
  /** Lets one of them do something over the server. */
  ask(who: keyof typeof TOKENS, name: string, input: object): Promise<unknown>
  timeline(id: string): Promise<readonly TimelineEntry[]>
}

async function openDesk(store: Store): Promise<Desk> {
  const skep = openSkep(store)
  const server = createServer(skep, {
    logger: silentLogger,
    dashboard: false,
    tokens: [
      { name: 'ada', token: TOKENS.ada, scopes: ['operate'] },
      { name: 'ben', token: TOKENS.ben, scopes: ['operate'] },
    ],
  })
  onTestFinished(() => server.close())
  const { url } = await server.listen({ port: 0 })
  const ask: Desk['ask'] = async (who, name, input) => {
    const response = await fetch(`${url}/api/v1/call/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKENS[who]}` },
      body: JSON.stringify(input),
    })
    const answer = await response.json()
    expect({ name, status: response.status, answer }).toMatchObject({ name, status: 200 })
    return answer
  }
  return {
    skep,
    ask,
    async timeline(id) {
      return ((await ask('ada', 'jobs.get', { id })) as { timeline: readonly TimelineEntry[] }).timeline
    },
  }
}

const texts = (timeline: readonly TimelineEntry[]): readonly string[] =>
  timeline
    .filter(({ kind }) => kind !== 'started' && kind !== 'expires')
    .map(({ text, attempt }) => (attempt === null ? text : `${text} (${attempt})`))

const ended = (skep: Skep, id: string, generation: number, state: string): Promise<void> =>
  expect
    .poll(async () => {
      const job = await skep.jobs.get(id)
      return `${job?.generation} ${job?.state}`
    })
    .toBe(`${generation} ${state}`)

describe.each(STORES)('the timeline of a job in %s', (name) => {
  it('keeps every death, and says when and by whom it was retried', async () => {
    const { skep, ask, timeline } = await openDesk(await openStore(name))
    let failures = 0
    skep.worker([
      shaky.handle(() => {
        if (failures < 6) throw new Error(`bad ${++failures}`)
      }),
    ])
    const { id } = await skep.enqueue(shaky, 'x')
    await ended(skep, id, 0, 'dead')
    const before = Date.now()
    await ask('ada', 'jobs.change', { action: 'retry', ids: [id] })
    const after = Date.now()
    await ended(skep, id, 1, 'dead')
    await ask('ben', 'bulk.start', { action: 'retry', query: 'state:dead queue:shaky' })
    await ended(skep, id, 2, 'dead')
    await skep.jobs.retry(id)
    await ended(skep, id, 3, 'done')

    const entries = await timeline(id)
    expect(texts(entries)).toEqual([
      'Enqueued',
      'Failed: bad 1 (1)',
      'Died: bad 2 (2)',
      'Retried manually by ada',
      'Failed: bad 3 (1)',
      'Died: bad 4 (2)',
      'Retried manually by ben',
      'Failed: bad 5 (1)',
      'Died: bad 6 (2)',
      // By a program, over no server: nothing says who it was.
      'Retried manually',
      'Completed (1)',
    ])
    const retried = entries.filter(({ kind }) => kind === 'retried').map(({ at }) => Date.parse(at))
    expect(retried).toHaveLength(3)
    expect(retried[0]).toBeGreaterThanOrEqual(before)
    expect(retried[0]).toBeLessThanOrEqual(after)
    expect(entries.filter(({ kind }) => kind === 'started')).toHaveLength(7)
    expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted())
  })

  it('says who retried a job also while it waits, and of many only what is certain', async () => {
    const { skep, ask, timeline } = await openDesk(await openStore(name))
    const worker = skep.worker([
      shaky.handle(() => {
        throw new Error('bad')
      }),
    ])
    const handles = await skep.enqueueMany(shaky, Array.from({ length: 8 }, String))
    const ids = handles.map((handle) => handle.id)
    for (const id of ids) await ended(skep, id, 0, 'dead')
    await worker.stop()

    await ask('ben', 'jobs.change', { action: 'retry', ids })
    for (const id of [ids[0], ids[7]] as string[]) {
      expect(texts(await timeline(id)).slice(-2)).toEqual(['Died: bad (2)', 'Retried manually by ben'])
    }
    // Cancelled, so that it can be retried once more, with others: for the last of them two lines of the audit fit.
    await skep.jobs.cancel(ids)
    await ask('ada', 'jobs.change', { action: 'retry', ids: ids.toReversed() })
    expect(texts(await timeline(ids[7] as string)).at(-1)).toBe('Retried manually 2 times by ada')
    expect(texts(await timeline(ids[1] as string)).at(-1)).toMatch(/^Retried manually 2 times( by ben)?$/)
  })

  it('does not call an attempt a death after which the job was buried by hand', async () => {
    const { skep, timeline } = await openDesk(await openStore(name))
    const slow = queue<string>('slow', { onError: retry(3, fixed('1h')) })
    skep.worker([
      slow.handle(() => {
        throw new Error('bad')
      }),
    ])
    const { id } = await skep.enqueue(slow, 'x')
    await ended(skep, id, 0, 'delayed')
    await skep.jobs.bury(id, { reason: 'enough' })
    await skep.jobs.retry(id)
    await ended(skep, id, 1, 'delayed')

    const kinds = (await timeline(id)).map(({ kind }) => kind)
    expect(kinds).toEqual(['enqueued', 'started', 'failed', 'retried', 'started', 'failed', 'due'])
    expect(texts(await timeline(id)).filter((text) => text.startsWith('Died'))).toEqual([])
  })
})
