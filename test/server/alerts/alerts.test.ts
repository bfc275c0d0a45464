import { describe, expect, it } from 'vitest'
import type { Attention } from '../../../src/operations/schema/wire-types.ts'
import { type AlertState, afterLook, afterSending, NO_ALERTS } from '../../../src/server/alerts/alerts.ts'

const MINUTE = 60_000
const rule = { kinds: null, level: 'warning', afterMs: MINUTE, everyMs: 60 * MINUTE } as const
const behind = (waits: number): Attention => ({
  level: 'warning',
  kind: 'backlog',
  text: `mail has ${waits} waiting jobs.`,
  link: '/queues/mail',
})

interface Course {
  readonly state: AlertState
  /** What was told, and when. */
  readonly told: readonly string[]
}

/** Looks once a minute; each look sees what its entry says. */
function course(
  looks: readonly (readonly Attention[])[],
  options: Partial<typeof rule | object> = {},
): Course {
  let state = NO_ALERTS
  let made = 0
  looks.forEach((seen, minute) => {
    const context = { rule: { ...rule, ...options }, now: minute * MINUTE, makeId: () => `msg_${++made}` }
    state = afterLook(state, seen, context)
  })
  return { state, told: state.outbox.map(({ type, at, alert }) => `${at / MINUTE} ${type} ${alert.text}`) }
}

describe('what needs attention', () => {
  it('is told when it has lasted, with its latest words, and once', () => {
    expect(course([[behind(1)], [behind(2)], [behind(3)]]).told).toEqual([
      '1 alert.opened mail has 2 waiting jobs.',
    ])
  })

  it('is not told when it was over before that, however often it comes', () => {
    expect(course([[behind(1)], [], [behind(1)], [], [behind(1)]]).told).toEqual([])
  })

  it('is told at once where nothing is to be waited for', () => {
    expect(course([[behind(1)]], { afterMs: 0 }).told).toEqual(['0 alert.opened mail has 1 waiting jobs.'])
  })

  it('is told to be over when it has been gone for as long, and then forgotten', () => {
    const { told, state } = course([[behind(1)], [behind(1)], [], []])

    expect(told).toEqual([
      '1 alert.opened mail has 1 waiting jobs.',
      '2 alert.resolved mail has 1 waiting jobs.',
    ])
    expect(state.alerts).toEqual({})
  })

  it('is not told to be over when it was away for less', () => {
    const { told } = course([[behind(1)], [behind(1)], [behind(1)], [behind(1)], [], [behind(1)]], {
      afterMs: 2 * MINUTE,
    })
    expect(told).toHaveLength(1)
  })

  it('is told again as often as asked while it lasts', () => {
    const looks = Array.from({ length: 125 }, () => [behind(1)])
    expect(course(looks).told.map((line) => line.split(' ').slice(0, 2))).toEqual([
      ['1', 'alert.opened'],
      ['61', 'alert.repeated'],
      ['121', 'alert.repeated'],
    ])
  })

  it('is told again at once when it became critical', () => {
    const worse: Attention = { ...behind(9), level: 'critical' }
    expect(course([[behind(1)], [behind(1)], [worse], [worse]]).told).toHaveLength(2)
  })

  it('is told of only as far as the rule wants it', () => {
    const critical: Attention = {
      level: 'critical',
      kind: 'no-worker',
      text: 'No worker.',
      link: '/queues/a',
    }
    const looks = [
      [behind(1), critical],
      [behind(1), critical],
    ]
    expect(course(looks, { level: 'critical' }).told).toEqual(['1 alert.opened No worker.'])
    expect(course(looks, { kinds: new Set(['backlog']) }).told).toHaveLength(1)
    expect(course(looks).told).toHaveLength(2)
  })

  it('is bounded when everything breaks at once', () => {
    const many = Array.from({ length: 500 }, (_, n): Attention => ({ ...behind(n), link: `/queues/q${n}` }))
    const { state } = course([many, many, [], [], many, many, [], []])

    expect(state.outbox).toHaveLength(200)
    expect(Object.keys(state.alerts)).toHaveLength(0)
  })
})

describe('a message', () => {
  const { state } = course([[behind(1)], [behind(1)], []])
  const [opened, resolved] = state.outbox.map(({ id }) => id) as [string, string]

  it('is gone when it was taken, and the others stay', () => {
    const after = afterSending(state, new Map([[opened, true]]), 3 * MINUTE)
    expect([after.outbox.map(({ id }) => id), after.givenUp]).toEqual([[resolved], 0])
  })

  it('waits twice as long after each try, an hour at most, and is given up after a day', () => {
    let now = MINUTE
    let left: AlertState = state
    const waits: number[] = []
    let givenUp = 0
    while (left.outbox.some(({ id }) => id === opened)) {
      const after = afterSending(left, new Map([[opened, false]]), now)
      left = after
      givenUp += after.givenUp
      const next = after.outbox.find(({ id }) => id === opened)
      if (next) waits.push((next.nextAt - now) / 1_000)
      now = next?.nextAt ?? now
    }
    expect(waits.slice(0, 5)).toEqual([5, 10, 20, 40, 80])
    expect([Math.max(...waits), givenUp, left.outbox.map(({ id }) => id)]).toEqual([3_600, 1, [resolved]])
  })
})
