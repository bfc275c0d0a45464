import { describe, expect, it } from 'vitest'
import { createGroup, type Group, type GroupEvent } from '../../src/core/flows/groups.ts'
import { jobsAwaited, remedyFor, type Wait } from '../../src/core/flows/stuck-runs.ts'
import type { JobState, NewJob } from '../../src/core/jobs/job.ts'

const job = (id: string): NewJob => ({ id }) as NewJob

function group(counts: { done: number; failed: number; fired: readonly GroupEvent[] }): Group {
  const made = createGroup(
    {
      id: 'g',
      space: 'acme',
      run: 'r',
      size: 3,
      need: 3,
      failing: 'end',
      jobs: { success: job('on success'), failure: job('on failure') },
      keepMs: 0,
    },
    0,
  )
  return { ...made, ...counts }
}

const judge = (wait: Partial<Wait>, states: Readonly<Record<string, JobState>> = {}): unknown =>
  remedyFor({ group: null, job: null, ...wait }, (id) => states[id] ?? null)

describe('A run that waits', () => {
  it('for a group that has not fired can move on, whatever became of other jobs', () => {
    expect(judge({ group: group({ done: 2, failed: 0, fired: [] }) })).toBeNull()
  })

  it('for a group that has fired can move on while the job that says so comes', () => {
    const fired = group({ done: 3, failed: 0, fired: ['success', 'settled'] })

    for (const state of ['delayed', 'ready', 'running', 'dead'] as const)
      expect(judge({ group: fired }, { 'on success': state })).toBeNull()
    for (const state of ['done', 'failed', 'cancelled'] as const)
      expect(judge({ group: fired }, { 'on success': state })).toEqual({ event: 'success' })
    expect(judge({ group: fired })).toEqual({ event: 'success' })
  })

  it('is told of its failure again, unless somebody mends that just now', () => {
    expect(judge({ group: group({ done: 2, failed: 1, fired: ['failure', 'settled'] }) })).toEqual({
      event: 'failure',
    })
    expect(judge({ group: group({ done: 2, failed: 0, fired: ['failure', 'settled'] }) })).toBeNull()
  })

  it('is told of its success if it has fired both', () => {
    const both = group({ done: 3, failed: 0, fired: ['success', 'failure', 'settled'] })

    expect(judge({ group: both })).toEqual({ event: 'success' })
    expect(jobsAwaited({ group: both, job: 'again' })).toEqual(['again', 'on success', 'on failure'])
  })

  it('is told once: the job that was enqueued again counts as well', () => {
    const fired = group({ done: 3, failed: 0, fired: ['success', 'settled'] })

    expect(judge({ group: fired, job: 'again' }, { again: 'ready' })).toBeNull()
    expect(judge({ group: fired, job: 'again' }, { again: 'done' })).toEqual({ event: 'success' })
  })

  it('for a moment can move on while its job comes', () => {
    expect(judge({ job: 'later' }, { later: 'delayed' })).toBeNull()
    expect(judge({ job: 'later' })).toEqual({ event: 'moment' })
    expect(judge({ job: null })).toBeNull()
  })

  it('for a group that is gone is lost', () => {
    expect(judge({ group: undefined })).toBe('lost')
  })
})
