import { describe, expect, it } from 'vitest'
import {
  chained,
  givenAtFront,
  givenIn,
  heirsOf,
  nextInChain,
  withoutChain,
} from '../../src/core/flows/chains.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'

const member = { group: '01a31c50-0000-7000-a000-000000000001', n: 3 }

function job(n: number, differs: Partial<NewJob> = {}): NewJob {
  return {
    id: `01a31c50-0000-7000-8000-${String(n).padStart(12, '0')}`,
    space: 'acme',
    queue: 'mail',
    payload: JSON.stringify({ n, text: 'a "quoted" \\ é' }),
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
    ...differs,
  }
}

describe('A chain', () => {
  it('brings each job as it was, one after the other, with what the one before gave', () => {
    const unique = { key: 'a', scope: 'active', windowMs: 0, onConflict: 'ignore' } as const
    const jobs = [
      job(1, { headers: '{"a":"b"}' }),
      job(2, { queue: 'other', priority: 5, lane: 'x', unique }),
      job(3, { queue: 'other', headers: '{"c":"d"}', delayMs: 10, overrides: '{"timeoutMs":1}' }),
      job(4),
    ]

    let at: NewJob | null = chained(jobs, member)
    for (const [n, expected] of jobs.entries()) {
      const { headers, ...rest } = at as NewJob
      const { headers: own, ...others } = expected
      expect(rest).toEqual({ ...others, member })
      const read = JSON.parse(headers ?? '{}') as Record<string, string>
      expect(withoutChain(read)).toEqual(JSON.parse(own ?? '{}'))
      expect(heirsOf(headers)).toEqual(jobs.slice(n + 1).map(({ id }) => id))
      expect(givenIn(read)).toBe(n === 0 ? undefined : n === 2 ? 'null' : `{"r":${n - 1}}`)
      at = nextInChain(at as NewJob, n === 1 ? null : `{"r":${n}}`)
    }
    expect(at).toBeNull()
  })

  it('comes through whatever is in its payloads and queues, and whoever writes to its headers', () => {
    const odd = '\x7f"\\u007f\\\\'
    const jobs = [
      job(1),
      job(2, { payload: JSON.stringify([odd]), queue: odd, lane: odd }),
      job(3, { payload: '"\\\\"', queue: 'ab"c' }),
      job(4, { payload: '1' }),
    ]
    const first = chained(jobs, null)
    const headers = JSON.parse(first.headers ?? '') as object
    for (const written of [
      JSON.stringify(headers),
      JSON.stringify({ ...headers, later: 'x' }),
      JSON.stringify({ before: 'y', ...headers }, null, 1),
    ]) {
      let at: NewJob | null = { ...first, headers: written }
      for (const { id, queue, lane, payload } of jobs.slice(1)) {
        at = nextInChain(at as NewJob, '1')
        expect(at).toMatchObject({ id, queue, lane })
        expect(JSON.parse(at?.payload ?? '')).toEqual(JSON.parse(payload))
      }
      expect(nextInChain(at as NewJob, '1')).toBeNull()
    }
  })

  it('gives what can be seen at once, or not at all', () => {
    const given = (result: string): string | undefined =>
      givenAtFront(nextInChain(chained([job(1), job(2)], null), result)?.headers ?? '')
    expect(given('12')).toBe('12')
    expect(given('"x"')).toBeUndefined()
    expect(givenAtFront('{"skep-chain":"1"}')).toBeUndefined()
  })

  it('of one job is that job', () => {
    expect(chained([job(1)], null)).toEqual(job(1))
    expect(nextInChain(job(1), '1')).toBeNull()
    expect(nextInChain(job(1, { headers: '{"note":"skep-chain"}' }), '1')).toBeNull()
  })
})
