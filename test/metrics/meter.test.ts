import { describe, expect, it } from 'vitest'
import { Meter, OTHER_QUEUES, QUEUES_TOLD_APART, Tally } from '../../src/metrics/counters.ts'

function collected(meter: Meter): Map<string, Tally> {
  const found = new Map<string, Tally>()
  meter.collect((queue, recent) => {
    const copy = new Tally()
    copy.merge(recent)
    found.set(queue, copy)
  })
  return found
}

describe('a meter', () => {
  it('gives what happened since the last time, and remembers all of it', () => {
    const meter = new Meter()
    meter.of('mail').enqueued(3)
    meter.of('mail').done(5)

    expect(collected(meter).get('mail')).toMatchObject({ enqueued: 3, done: 1 })
    expect(collected(meter).size).toBe(0)
    meter.of('mail').done(7)
    expect(collected(meter).get('mail')).toMatchObject({ enqueued: 0, done: 1 })
    expect(meter.totals().get('mail')).toMatchObject({ enqueued: 3, done: 2 })
  })

  it('says once that there is something to collect', () => {
    const meter = new Meter()
    let calls = 0
    meter.onFirst = () => {
      calls += 1
    }

    meter.of('mail').enqueued(1)
    meter.of('mail').enqueued(1)
    meter.of('sms').enqueued(1)
    expect(calls).toBe(1)
    collected(meter)
    meter.of('sms').enqueued(1)
    expect(calls).toBe(2)
  })

  it('counts a run that ended badly by what became of the job', () => {
    const meter = new Meter()

    meter.of('mail').failed('delayed', false, 1)
    meter.of('mail').failed('dead', false, 1)
    meter.of('mail').failed('ready', true, null)
    meter.of('mail').failed('failed', false, 1)

    expect(collected(meter).get('mail')).toMatchObject({ failed: 4, retried: 2, dead: 1, lost: 1 })
  })

  it('counts queues beyond a thousand together', () => {
    const meter = new Meter()

    for (let i = 0; i < 3 * QUEUES_TOLD_APART; i++) meter.of(`queue-${i}`).enqueued(1)

    const totals = meter.totals()
    expect(totals.size).toBe(QUEUES_TOLD_APART + 1)
    expect(totals.get(OTHER_QUEUES)?.enqueued).toBe(2 * QUEUES_TOLD_APART)
  })
})
