import { expect, it } from 'vitest'
import { type Attendance, handledQueues, isLiveWorker, unhandledOf } from '../../src/core/jobs/unhandled.ts'

const NOW = 1_000_000
const worker = (difference: Partial<Attendance> = {}): Attendance => ({
  queues: ['mail'],
  life: 'here',
  seenAt: NOW,
  ...difference,
})

it('takes a worker as live if the store says so, or by its latest heartbeat', () => {
  expect(isLiveWorker(worker({ seenAt: 0 }), NOW)).toBe(true)
  expect(isLiveWorker(worker({ life: 'gone' }), NOW)).toBe(false)
  expect(isLiveWorker(worker({ life: 'unsure', seenAt: NOW - 29_999 }), NOW)).toBe(true)
  expect(isLiveWorker(worker({ life: 'unsure', seenAt: NOW - 30_000 }), NOW)).toBe(false)
})

it('does not count workers that are gone among those that handle a queue', () => {
  const workers = [worker({ queues: ['a', 'b'] }), worker({ queues: ['b', 'c'], life: 'gone' })]

  expect([...handledQueues(workers, NOW)]).toEqual(['a', 'b'])
})

it('counts all ready jobs of a queue as unhandled, or none', () => {
  const handled = new Set(['a'])

  expect(unhandledOf({ queue: 'a', ready: 5 }, handled)).toBe(0)
  expect(unhandledOf({ queue: 'b', ready: 5 }, handled)).toBe(5)
})
