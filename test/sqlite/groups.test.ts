import { describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import type { Settlement } from '../../src/store/store.ts'
import { endOf, groupOf, outcomesOf, readGroup, SPACE, take } from './group-samples.ts'
import {
  done,
  exitOf,
  freshFile,
  messageFrom,
  newJob,
  newJobs,
  openHandle,
  openStore,
  runtime,
  start,
} from './support.ts'

const ROUNDS = Number(process.env['SKEP_ROUNDS'] ?? 100)

describe('Two who end the last members at once', () => {
  it(
    'fire once, from two connections',
    async () => {
      const file = freshFile()
      const [one, other] = [
        openStore({ file, synchronous: 'normal' }),
        openStore({ file, synchronous: 'normal' }),
      ]
      for (let round = 0; round < ROUNDS; round++) {
        const { group, jobs, next } = groupOf(2)
        await one.insert({ jobs, groups: [group] })
        const [mine, theirs] = [await take(one, 1), await take(other, 1)]

        const replies = await Promise.all([endOf(one, mine), endOf(other, theirs)])

        expect(replies.flatMap(({ enqueued }) => enqueued ?? [])).toHaveLength(1)
        expect(await readGroup(one, group.id)).toMatchObject({ done: 2, fired: ['success', 'settled'] })
        expect((await one.get({ space: SPACE, ids: [next.id] })).jobs[0]?.state).toBe('ready')
      }
    },
    60_000 + ROUNDS * 100,
  )

  it('fire once in one transaction, and only the last is told of it', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs } = groupOf(3)
    await store.insert({ jobs, groups: [group] })
    const all = await take(store, 3)

    const replies = await Promise.all(all.map((settlement) => endOf(store, [settlement])))

    expect(replies.map(({ enqueued }) => enqueued?.length ?? 0)).toEqual([0, 0, 1])
  })

  it('fire once, from two processes', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const made = Array.from({ length: 300 }, () => groupOf(2))
    // Neighbours in line are members of one group.
    await store.insert({
      jobs: made.flatMap(({ jobs }) => jobs),
      groups: made.map(({ group }) => group),
    })

    const children = [start('end', file), start('end', file)]
    const enqueued = await Promise.all(children.map((child) => messageFrom<number>(child)))
    await Promise.all(children.map(exitOf))

    expect(enqueued.reduce((sum, count) => sum + count)).toBe(300)
    const { jobs } = await store.get({ space: SPACE, ids: made.map(({ next }) => next.id) })
    expect(jobs.filter((job) => job?.state === 'ready')).toHaveLength(300)
    const { groups } = await store.getGroups({ space: SPACE, ids: made.map(({ group }) => group.id) })
    expect(groups.every((group) => group?.done === 2 && group.fired.length === 2)).toBe(true)
  }, 60_000)
})

describe('A group of ten thousand', () => {
  it('counts members that are discarded with their results, by the thousand', async () => {
    const store = openStore({ file: freshFile(), synchronous: 'normal' })
    const { group, jobs } = groupOf(10_000)
    await store.insert({ jobs, groups: [group] })
    const fired: number[] = []
    for (let ended = 0; ended < 10_000; ended += 1_000) {
      const settlements = await take(store, 1_000, (n) => ({ ...done, result: `{"n":${ended + n}}` }))
      fired.push((await endOf(store, settlements)).enqueued?.length ?? 0)
    }

    expect(fired).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    expect(await readGroup(store, group.id)).toMatchObject({ done: 10_000, failed: 0 })
    const outcomes = await outcomesOf(store, group.id)
    expect(outcomes.map(({ n }) => n)).toEqual(jobs.map((_, n) => n))
    expect(outcomes.every(({ n, id, state }) => id === jobs[n]?.id && state === 'done')).toBe(true)
    expect(new Set(outcomes.map(({ result }) => result)).size).toBe(10_000)
  }, 30_000)

  it('counts members that end one by one, in no time that grows with them', async () => {
    const store = openStore({ file: freshFile(), synchronous: 'normal' })
    const { group, jobs } = groupOf(10_000, { jobs: {}, need: 0 })
    await store.insert({ jobs, groups: [group] })
    const took: number[] = []
    for (let from = 0; from < 10_000; from += 1_000) {
      const began = runtime.mono()
      const ids = jobs.slice(from, from + 1_000).map(({ id }) => id)
      await Promise.all(
        ids.map((id) =>
          store.change({
            action: 'cancel',
            space: SPACE,
            target: { ids: [id] },
            failure: null,
            keepMs: 60_000,
          }),
        ),
      )
      took.push(runtime.mono() - began)
    }

    expect(await readGroup(store, group.id)).toMatchObject({ failed: 10_000, fired: ['success', 'settled'] })
    const [early, late] = [took.slice(1, 4), took.slice(7)].map((few) => Math.min(...few)) as [number, number]
    expect(late).toBeLessThan(early * 4 + 50)
  }, 60_000)
})

describe('The end of many leases at once', () => {
  it('keeps the results of members among other jobs, discarded or kept', async () => {
    for (const keepMs of [null, 60_000]) {
      const store = openStore({ file: freshFile() })
      // Their ids say in which order they are claimed.
      const [first, plain, second] = [groupOf(3), newJobs(2), groupOf(3)]
      const jobs = [...first.jobs, ...plain, ...second.jobs]
      await store.insert({ jobs, groups: [first.group, second.group] })

      const settlements = await take(store, 8, (n) => ({ ...done, keepMs, result: `${n}` }))
      const { enqueued } = await endOf(store, settlements)

      expect(enqueued).toHaveLength(2)
      expect((await outcomesOf(store, first.group.id)).map(({ result }) => result)).toEqual(['0', '1', '2'])
      expect((await outcomesOf(store, second.group.id)).map(({ result }) => result)).toEqual(['5', '6', '7'])
      const [kept] = (await store.get({ space: SPACE, ids: [jobs[0]?.id ?? ''] })).jobs
      expect(kept?.member ?? null).toEqual(keepMs === null ? null : { group: first.group.id, n: 0 })
    }
  })

  it('keeps the failures of members that are discarded', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs } = groupOf(2, { jobs: { failure: newJob({ queue: 'report' }) } })
    await store.insert({ jobs, groups: [group] })

    const failed = (n: number): Verdict => ({ ...done, to: 'failed', failure: `{"message":"${n}"}` })
    const { enqueued } = await endOf(store, await take(store, 2, failed))

    expect(enqueued).toHaveLength(1)
    expect((await outcomesOf(store, group.id)).map(({ state, failure }) => [state, failure])).toEqual([
      ['failed', '{"message":"0"}'],
      ['failed', '{"message":"1"}'],
    ])
  })

  it('counts members in lanes', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs } = groupOf(20)
    const laned = jobs.map((job, n) => ({ ...job, lane: `lane ${n % 3}` }))
    await store.insert({ jobs: laned, groups: [group] })

    const { enqueued } = await endOf(store, await take(store, 20, (n) => ({ ...done, result: `${n}` })))

    expect(enqueued).toHaveLength(1)
    expect((await outcomesOf(store, group.id)).every(({ result }) => result !== null)).toBe(true)
  })

  it('counts a number once, if two jobs have it', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs } = groupOf(2)
    const twin = newJob({ member: { group: group.id, n: 0 } })
    await store.insert({ jobs: [jobs[0] as NewJob, twin], groups: [group] })

    await endOf(store, await take(store, 2, (n) => ({ ...done, result: `${n}` })))

    expect(await readGroup(store, group.id)).toMatchObject({ done: 1 })
    expect(await outcomesOf(store, group.id)).toMatchObject([{ n: 0, id: twin.id, result: '1' }])
  })
})

describe('A group', () => {
  it('goes on where it was when the file is opened again', async () => {
    const file = freshFile()
    const { group, jobs, next } = groupOf(4)
    await openStore({ file }).insert({ jobs, groups: [group] })
    for (let n = 0; n < 4; n++) {
      const store = openStore({ file })
      expect(await readGroup(store, group.id)).toMatchObject({ done: n, fired: [] })
      const settlements = await take(store, 1, () => ({ ...done, result: `${n}` }))
      await store.close()
      const again = openStore({ file })
      const { enqueued } = await endOf(again, settlements)
      expect(enqueued?.length ?? 0).toBe(n === 3 ? 1 : 0)
      await again.close()
    }

    const store = openStore({ file })
    expect((await outcomesOf(store, group.id)).map(({ result }) => result)).toEqual(['0', '1', '2', '3'])
    expect((await store.get({ space: SPACE, ids: [next.id] })).jobs[0]?.state).toBe('ready')
  })

  it('is made, filled and fired inside a transaction, if that is committed', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await store.ready()
    const handle = openHandle(file)
    const within = store.within?.(handle)
    const { group, jobs, next } = groupOf(1)
    for (const end of ['rollback', 'commit']) {
      handle.exec('begin immediate')
      await within?.insert({ jobs, groups: [group] })
      handle.exec(end)
      expect((await readGroup(store, group.id))?.size).toBe(end === 'commit' ? 1 : undefined)
    }
    const settlements = await take(store, 1)
    for (const end of ['rollback', 'commit']) {
      handle.exec('begin immediate')
      expect((await within?.settle({ settlements }))?.enqueued).toHaveLength(1)
      handle.exec(end)
      const { jobs: fired } = await store.get({ space: SPACE, ids: [next.id] })
      expect(fired[0]?.state).toBe(end === 'commit' ? 'ready' : undefined)
    }
    expect(await readGroup(store, group.id)).toMatchObject({ done: 1 })
  })

  it('counts a member that is rescued for the last time', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs, next } = groupOf(1, { jobs: {} })
    const failing = { ...group, jobs: { failure: next } }
    await store.insert({ jobs, groups: [failing] })
    const [held] = await take(store, 1)

    const verdict: Verdict = {
      ...done,
      to: 'dead',
      keepMs: 60_000,
      count: 'lost',
      failure: '{"kind":"lost"}',
    }
    const { enqueued } = await endOf(store, [{ ...(held as Settlement), verdict, rescue: true }])

    expect(enqueued).toHaveLength(1)
    expect(await outcomesOf(store, group.id)).toMatchObject([{ state: 'dead', failure: '{"kind":"lost"}' }])
  })

  it('counts a member that a page of a selection ends, and tells of what it enqueued', async () => {
    const store = openStore({ file: freshFile() })
    const { group, jobs } = groupOf(5, { need: 0, jobs: { settled: newJob({ queue: 'report' }) } })
    await store.insert({ jobs, groups: [group] })
    const target = { queue: 'mail', state: 'ready', limit: 10 } as const

    const reply = await store.change({ action: 'bury', space: SPACE, target, failure: null, keepMs: 60_000 })

    expect(reply.enqueued?.map(({ queue }) => queue)).toEqual(['report'])
    expect(await readGroup(store, group.id)).toMatchObject({ failed: 5 })
  })

  it('hears of a member whose key is held, also of one that another group enqueued', async () => {
    const store = openStore({ file: freshFile() })
    const unique = { key: 'a', scope: 'active', windowMs: 0, onConflict: 'ignore' } as const
    await store.insert({ jobs: [newJob({ unique, queue: 'report' })] })
    const last = groupOf(1, { need: 0, jobs: { settled: newJob({ queue: 'report' }) } })
    const link = newJob({ unique, queue: 'report', member: { group: last.group.id, n: 0 } })
    const first = groupOf(1, { jobs: { success: link } })
    await store.insert({ jobs: first.jobs, groups: [first.group, last.group] })

    const { enqueued } = await endOf(store, await take(store, 1))

    expect(enqueued).toHaveLength(1)
    expect(await outcomesOf(store, last.group.id)).toMatchObject([{ id: link.id, state: 'cancelled' }])
    expect(await readGroup(store, last.group.id)).toMatchObject({ failed: 1 })
  })

  it('is mended if its counts are wrong, or if it has not fired', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const [first, second] = [groupOf(2), groupOf(1)]
    await store.insert({ jobs: [...first.jobs, ...second.jobs], groups: [first.group, second.group] })
    await endOf(store, await take(store, 2))
    const handle = openHandle(file)
    handle.exec(`update skep_groups set done = 1, fired = 0, ended_at = null where id = '${first.group.id}'`)
    const mended = { space: SPACE, group: first.group.id, what: 'counts' }

    expect(await store.auditGroups({ limit: 1, cursor: null })).toMatchObject({
      mended: [mended],
      cursor: first.group.id,
    })
    expect(await readGroup(store, first.group.id)).toMatchObject({ done: 2, fired: ['success', 'settled'] })
    expect(await store.auditGroups({ limit: 10, cursor: first.group.id })).toEqual({
      mended: [],
      enqueued: [],
      cursor: null,
    })
  })
})
