import { describe, expect, it } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import type { ListCall, Store } from '../../src/store/store.ts'
import { claimCall, done, newJob, openStore } from './support.ts'

async function pages(store: Store, call: Omit<ListCall, 'cursor'>): Promise<Job[]> {
  const found: Job[] = []
  let cursor: string | null = null
  do {
    const page = await store.list({ ...call, cursor })
    found.push(...page.jobs)
    cursor = page.cursor
  } while (cursor !== null)
  return found
}

describe('A search for a text among thousands', () => {
  it('finds each once, page by page, in the order of the list', async () => {
    const store = openStore({ file: ':memory:' })
    const jobs = Array.from({ length: 7_000 }, (_, n) => newJob({ payload: JSON.stringify({ n: `<${n}>` }) }))
    await store.insert({ jobs })
    for (let left = 4_500; left > 0; left -= 500) {
      const { jobs: claimed } = await store.claim(claimCall(500))
      const verdict = { ...done, keepMs: 60_000 }
      await store.settle({
        settlements: claimed.map(({ space, id, token }) => ({ space, id, token, verdict })),
      })
    }

    const search = { space: 'acme', queue: 'mail', limit: 40, where: { text: '99>' } } as const
    const waiting = await pages(store, { ...search, state: 'ready' })
    const finished = await pages(store, { ...search, state: 'done' })
    const nothing = await pages(store, { ...search, state: 'done', where: { text: 'nowhere' } })

    const expected = jobs.filter(({ payload }) => payload.includes('99>')).map(({ id }) => id)
    expect(waiting.map(({ id }) => id)).toEqual(expected.slice(45))
    expect(finished.map(({ id }) => id).toSorted()).toEqual(expected.slice(0, 45).toSorted())
    expect(finished.map(({ finishedAt }) => finishedAt)).toEqual(
      finished.map(({ finishedAt }) => finishedAt as number).toSorted((a, b) => b - a),
    )
    expect(nothing).toEqual([])
  })
})
