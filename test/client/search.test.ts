import { describe, expect, it } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { matches } from '../../src/core/query/match.ts'
import { parseQuery } from '../../src/core/query/query.ts'
import { bury, fixed, type ListOptions, never, queue, retry, type Skep } from '../../src/index.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

interface Mail {
  readonly to: string
  readonly n: number
}
const mail = queue<Mail>('mail.send')
const bounce = queue<Mail>('mail.bounce')
const report = queue<Mail>('report')

/** Every page from the first to the last. */
async function pagesOf(
  skep: Skep,
  options: ListOptions,
): Promise<{ ids: string[]; searched: number; pages: number }> {
  const ids: string[] = []
  let searched = 0
  let pages = 0
  for (let cursor: string | null | undefined; cursor !== null && pages < 500; pages++) {
    const page = await skep.jobs.list(cursor === undefined ? options : { ...options, cursor })
    ids.push(...page.jobs.map(({ id }) => id))
    searched += page.searched
    cursor = page.cursor
  }
  return { ids, searched, pages }
}

const items = (count: number, to: (n: number) => string): Mail[] =>
  Array.from({ length: count }, (_, n) => ({ to: to(n), n }))

describe.each(STORES)('a search in %s', (name) => {
  it('finds by content what fits, each job once, whatever the size of the pages', async () => {
    const skep = openSkep(await openStore(name))
    const jobs = await skep.enqueueMany(
      mail,
      items(120, (n) => (n % 7 === 0 ? 'ada' : 'bob')),
    )
    await skep.enqueueMany(
      report,
      items(30, () => 'bob'),
    )
    const expected = jobs.filter((_, n) => n % 7 === 0).map(({ id }) => id)

    for (const limit of [1, 3, 10, 200]) {
      const { ids, searched } = await pagesOf(skep, { query: 'payload.to:ada', limit })
      expect(ids.toSorted(), `limit ${limit}`).toEqual(expected.toSorted())
      expect(searched).toBeGreaterThanOrEqual(150)
    }
  })

  it('finds by the version of the worker on which the last attempt failed', async () => {
    const skep = openSkep(await openStore(name))
    const fragile = queue<number>('fragile', { onError: never() })
    const once = queue<number>('once', { onError: retry(1, fixed('1h')) })
    const versions = ['2.3.1', '2.4.0-rc.1']
    const ids: Record<string, string[]> = {}
    for (const version of versions) {
      const worker = skep.worker(
        [
          fragile.handle(({ payload }) => {
            if (payload === 1) throw new Error('bad')
            return payload === 2 ? bury('enough') : undefined
          }),
          once.handle(() => {
            throw new Error('later')
          }),
        ],
        { version },
      )
      const handles = [
        ...(await skep.enqueueMany(fragile, [0, 1, 2])),
        ...(await skep.enqueueMany(once, [1])),
      ]
      ids[version] = handles.map(({ id }) => id)
      await expect.poll(() => skep.jobs.count('state:ready,running').then(({ count }) => count)).toBe(0)
      await worker.stop()
    }

    for (const version of versions) {
      const [done, dead, buried, delayed] = ids[version] as [string, string, string, string]
      const found = async (query: string): Promise<string[]> =>
        (await pagesOf(skep, { query })).ids.toSorted()
      expect(await found(`version:${version}`)).toEqual([dead, buried, delayed].toSorted())
      expect(await found(`version:${version} state:dead`)).toEqual([dead, buried].toSorted())
      expect(await found(`-version:${version} state:done`)).toContain(done)
      expect((await skep.jobs.get(dead))?.failure?.version).toBe(version)
    }
    expect((await pagesOf(skep, { query: 'version:2.*' })).ids).toHaveLength(6)
    expect((await pagesOf(skep, { query: 'version:~RC' })).ids).toHaveLength(3)
  })

  it('finds by states, queues with stars, lane, time and id', async () => {
    const skep = openSkep(await openStore(name))
    const a = await skep.enqueue(mail, { to: 'a', n: 1 }, { lane: 'acme' })
    const b = await skep.enqueue(bounce, { to: 'b', n: 2 }, { delay: '1h', headers: { tenant: 'x' } })
    const c = await skep.enqueue(report, { to: 'c', n: 3 }, { priority: 9 })
    await skep.jobs.cancel(c.id, { reason: 'No time for "this"' })
    const ids = async (query: string): Promise<string[]> => (await pagesOf(skep, { query })).ids.toSorted()
    const of = (...jobs: { readonly id: string }[]): string[] => jobs.map(({ id }) => id).toSorted()

    expect(await ids('queue:mail.*')).toEqual(of(a, b))
    expect(await ids('-queue:mail.*')).toEqual(of(c))
    expect(await ids('state:delayed,cancelled')).toEqual(of(b, c))
    expect(await ids('lane:acme')).toEqual(of(a))
    expect(await ids('lane:""')).toEqual(of(b, c))
    expect(await ids(`id:${a.id},${c.id}`)).toEqual(of(a, c))
    expect(await ids(`id:${a.id},${c.id} state:ready`)).toEqual(of(a))
    expect(await ids('since:1m before:+1m')).toEqual(of(a, c))
    expect(await ids('due:>+30m')).toEqual(of(b))
    expect(await ids('header.tenant:x')).toEqual(of(b))
    expect(await ids('priority:>5')).toEqual(of(c))
    expect(await ids('error:~"for \\"THIS\\""')).toEqual(of(c))
    expect(await ids('')).toEqual(of(a, b, c))
    expect(await ids('state:dead state:ready')).toEqual([])
  })

  it('finds and counts just what fits, however states, queues, lanes and times are put together', async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const ids: string[] = []
    for (let n = 0; n < 48; n++) {
      const lane = [null, 'a', 'ab', 'b'][n % 4] ?? null
      const { id } = await skep.enqueue(
        n % 3 === 0 ? mail : report,
        { to: String(n % 2), n },
        { ...(lane !== null && { lane }), ...(n % 5 > 2 && { delay: 60_000 * n }), priority: n % 7 },
      )
      ids.push(id)
      if (n % 5 === 0) await skep.jobs.cancel(id)
    }
    const { jobs } = await store.get({ space: skep.space, ids })
    const [first, last] = [jobs[16] as Job, jobs[40] as Job]
    const [from, till] = [first.enqueuedAt, last.enqueuedAt + 1_800_000].map((at) =>
      new Date(at).toISOString(),
    )
    const terms = [
      ['', 'state:ready', 'state:delayed', 'state:cancelled', 'state:delayed,cancelled', '-state:ready'],
      ['', 'lane:a', 'lane:""', 'lane:none', '-lane:a', 'lane:a,b', 'lane:a*', 'lane:a payload.to:1'],
      ['', `since:${from}`, `before:${till}`, `since:${from} before:${till}`],
      ['', 'queue:report'],
    ]
    const all = terms.reduce(
      (some, more) => some.flatMap((one) => more.map((term) => `${one} ${term}`)),
      [''],
    )
    // One of seven: each term with each other is still among them.
    const queries = all.filter((_, n) => n % 7 === 0)

    for (const query of queries) {
      const fits = (job: Job | null): boolean =>
        job !== null && matches(parseQuery(query), job, { now: Date.now() })
      const expected = jobs.flatMap((job, n) => (fits(job) ? [ids[n] as string] : []))
      const found = await pagesOf(skep, { query, limit: 11 })
      expect(found.ids.toSorted(), query).toEqual(expected.toSorted())
      // A count that took too long, on a machine with much to do, says so.
      const { count, isExact } = await skep.jobs.count(query)
      expect(isExact ? count : Math.max(count, expected.length), query).toBe(expected.length)
    }
  })

  it('counts among the first jobs alone where it has to look at all, and says so', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(
      report,
      items(5_001, () => 'x'),
    )

    expect(await skep.jobs.count('state:ready since:1h')).toEqual({ count: 5_000, isExact: false })
    expect(await skep.jobs.count('state:ready since:1h', { cap: 100 })).toEqual({
      count: 100,
      isExact: false,
    })
    expect(await skep.jobs.count('state:ready since:+1h')).toEqual({ count: 0, isExact: false })
  })

  it('has the finished jobs of several queues newest first, page by page', async () => {
    const skep = openSkep(await openStore(name))
    const jobs: string[] = []
    for (let n = 0; n < 24; n++) {
      const { id } = await skep.enqueue([mail, bounce, report][n % 3] ?? mail, { to: String(n), n })
      jobs.push(id)
      await skep.jobs.cancel(id)
    }
    const finished = new Map<string, number>()
    for (const id of jobs) finished.set(id, (await skep.jobs.get(id))?.finishedAt?.getTime() ?? 0)

    for (const limit of [1, 4, 7, 50]) {
      const { ids } = await pagesOf(skep, { query: 'state:cancelled', limit })
      expect(ids.toSorted()).toEqual(jobs.toSorted())
      const times = ids.map((id) => finished.get(id) ?? 0)
      expect(times).toEqual(times.toSorted((x, y) => y - x))
    }
    const some = await pagesOf(skep, { query: 'state:cancelled payload.n:>=12', limit: 5 })
    expect(some.ids.toSorted()).toEqual(jobs.slice(12).toSorted())
  })

  it('has what happens now before what is over, and all queues of a state together', async () => {
    const skep = openSkep(await openStore(name))
    const [mails, reports] = [
      [1, 2],
      [3, 4],
    ].map((numbers) => numbers.map((n) => ({ to: 'a', n }))) as [Mail[], Mail[]]
    const later: string[] = []
    for (const [n, line] of [mail, report, mail, report].entries()) {
      later.push((await skep.enqueue(line, { to: 'a', n }, { delay: 60_000 + n * 1_000 })).id)
    }
    const ready = [...(await skep.enqueueMany(mail, mails)), ...(await skep.enqueueMany(report, reports))]
    const done: string[] = []
    for (const line of [mail, report, mail]) {
      const { id } = await skep.enqueue(line, { to: 'a', n: 9 }, { delay: '1h' })
      await skep.jobs.cancel(id)
      done.unshift(id)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }

    for (const limit of [1, 2, 3, 4, 50]) {
      const { ids } = await pagesOf(skep, { limit })
      expect(ids, `limit ${limit}`).toEqual([...ready.map(({ id }) => id), ...later, ...done])
      const named = await pagesOf(skep, { query: 'state:cancelled,delayed', limit })
      expect(named.ids, `limit ${limit}`).toEqual([...done, ...later])
    }
  })

  it('skips nothing and repeats nothing when jobs leave between two pages', async () => {
    const skep = openSkep(await openStore(name))
    const jobs = [
      ...(await skep.enqueueMany(
        mail,
        items(20, () => 'x'),
      )),
      ...(await skep.enqueueMany(
        report,
        items(20, () => 'x'),
      )),
    ]
    await skep.jobs.cancel(jobs.map(({ id }) => id))
    const first = await skep.jobs.list({ query: 'state:cancelled payload.to:x', limit: 15 })
    // Those that were shown are worked on, as people do.
    await skep.jobs.remove(first.jobs.map(({ id }) => id))

    const ids = first.jobs.map(({ id }) => id)
    for (let cursor = first.cursor; cursor !== null; ) {
      const page = await skep.jobs.list({ query: 'state:cancelled payload.to:x', limit: 15, cursor })
      ids.push(...page.jobs.map(({ id }) => id))
      cursor = page.cursor
    }

    expect(ids.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
  })

  it('counts at once by states and queues, and by looking otherwise, up to a cap', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(
      mail,
      items(300, (n) => (n % 2 === 0 ? 'ada' : 'bob')),
    )
    await skep.enqueueMany(
      report,
      items(20, () => 'ada'),
    )

    expect(await skep.jobs.count('state:ready queue:mail.*')).toEqual({ count: 300, isExact: true })
    expect(await skep.jobs.count('')).toEqual({ count: 320, isExact: true })
    expect(await skep.jobs.count('payload.to:ada')).toEqual({ count: 170, isExact: true })
    expect(await skep.jobs.count('payload.to:ada', { cap: 100 })).toEqual({ count: 100, isExact: false })
    expect(await skep.jobs.count('queue:none')).toEqual({ count: 0, isExact: true })
  })
})

describe('a search', () => {
  it('looks at a bounded number of jobs for a page, which may be empty and not the last', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(
      mail,
      items(12_000, (n) => (n === 11_999 ? 'ada' : 'bob')),
    )
    let looked = 0

    const first = await scene.skep.jobs.list({ query: 'payload.to:ada' })
    expect(first.jobs).toEqual([])
    expect(first.searched).toBe(5_000)
    for (let { cursor } = first; cursor !== null; looked++) {
      const page = await scene.skep.jobs.list({ query: 'payload.to:ada', cursor })
      if (page.cursor === null) expect(page.jobs).toHaveLength(1)
      cursor = page.cursor
    }

    expect(looked).toBe(2)
  })

  it('ends a page when its time is over, and goes on from there', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        async list(call) {
          await new Promise<void>((resolve) => void scene.runtime.timer(100, resolve))
          return store.list(call)
        },
      }),
    })
    await scene.skep.enqueueMany(
      mail,
      items(1_000, () => 'bob'),
    )

    const page = await scene.through(scene.skep.jobs.list({ query: 'payload.to:ada', limit: 50 }))

    expect(page.jobs).toEqual([])
    expect(page.searched).toBeLessThan(1_000)
    expect(page.cursor).not.toBeNull()
  })

  it('does not look where the counters say that there is nothing', async () => {
    let lists = 0
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        list(call) {
          lists++
          return store.list(call)
        },
      }),
    })
    for (let n = 0; n < 20; n++) await scene.skep.enqueue(queue(`q${n}`), n)

    await scene.skep.jobs.list({ query: 'needle' })

    expect(lists).toBe(20)
  })

  it('lists more than fifty queues one after the other', async () => {
    const scene = openScene()
    const ids: string[] = []
    for (let n = 0; n < 60; n++) ids.push((await scene.skep.enqueue(queue(`q${n}`), n)).id)
    await scene.skep.jobs.cancel(ids)

    const found = await pagesOf(scene.skep, { query: 'state:cancelled', limit: 7 })

    expect(found.ids.toSorted()).toEqual(ids.toSorted())
  })

  it('takes other options beside the query: both must hold', async () => {
    const scene = openScene()
    const a = await scene.skep.enqueue(mail, { to: 'a', n: 1 })
    const b = await scene.skep.enqueue(report, { to: 'a', n: 2 })
    await scene.skep.jobs.cancel(b.id)
    const ids = async (options: ListOptions): Promise<string[]> =>
      (await scene.skep.jobs.list(options)).jobs.map(({ id }) => id)

    expect(await ids({ query: 'payload.to:a', queue: 'report' })).toEqual([b.id])
    expect(await ids({ query: 'payload.to:a', state: 'ready' })).toEqual([a.id])
    expect(await ids({ query: `id:${a.id},${b.id}`, queue: 'report' })).toEqual([b.id])
    expect(await ids({ query: `id:${a.id}`, text: 'nothing' })).toEqual([])
    expect(await ids({ query: 'queue:mail.*', queue: 'report' })).toEqual([])
  })

  it('finds by the host of the worker that ran a job', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => {})])
    const { id } = await scene.skep.enqueue(mail, { to: 'a', n: 1 })
    await scene.until(async () => (await scene.state(id)) === 'done')
    const [present] = await scene.skep.workers.list()

    for (const word of [worker.id, present?.host]) {
      expect((await scene.skep.jobs.list({ query: `worker:${word}` })).jobs.map((job) => job.id)).toEqual([
        id,
      ])
    }
    expect((await scene.skep.jobs.list({ query: 'worker:elsewhere' })).jobs).toEqual([])
  })

  it('refuses a query that makes no sense, a cursor that is none, and a cap that is none', async () => {
    const { skep } = openScene()

    expect(await codeOf(skep.jobs.list({ query: 'state:deed' }))).toBe('QUERY_INVALID')
    expect(await codeOf(skep.jobs.count('nope:1'))).toBe('QUERY_INVALID')
    expect(await codeOf(skep.jobs.list({ cursor: 'WzEsMiwzXQ' }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.jobs.count('', { cap: 0 }))).toBe('OPTION_INVALID')
  })
})
