import { describe, expect, it } from 'vitest'
import { payloadOf } from './crew.ts'
import type { Line, Sign } from './evidence.ts'
import { judge, type StoredJob, type Verdict } from './verdict.ts'

const BYTES = 100

function line(text: string): Line {
  const [sign, key, more = ''] = text.split(' ') as [Sign, string, string?]
  return { sign, key, more }
}

function stored(key: string, difference: Partial<StoredJob> = {}): StoredJob {
  const payload = JSON.stringify(payloadOf(key, BYTES))
  return { id: `id-${key}`, queue: 'kept', state: 'ready', payload, result: null, ...difference }
}

function verdictOn(lines: string, jobs: readonly StoredJob[], discarded: readonly string[] = []): Verdict {
  const holdings = { jobs, wasDiscarded: (id: string) => discarded.includes(id) }
  return judge(lines.split(', ').map(line), holdings, { drained: false, bytes: BYTES })
}

const done = { state: 'done', result: '"a"' } as const
const acknowledged = 'invoked a kept, enqueued a id-a'
const parent = `invoked a parent, enqueued a id-a, within a a/kept:id-a/kept`
const asParent = { queue: 'parent' } as const

describe('The verdict on what a store holds', () => {
  it.each([
    ['a job that waits', acknowledged, [stored('a')], []],
    ['a job that is done', `${acknowledged}, finished a`, [stored('a', done)], []],
    ['a job that was discarded', 'invoked a dropped, enqueued a id-a, finished a', [], ['id-a']],
    ['a job nobody was told of', 'invoked a kept', [stored('a')], []],
    ['a job that was never written', 'invoked a kept', [], []],
    [
      'a parent and its child',
      `${parent}, finished a`,
      [stored('a', { ...asParent, ...done }), stored('a/kept')],
      [],
    ],
    ['a parent that has not succeeded', parent, [stored('a', asParent)], []],
  ])('accepts %s', (_what, lines, jobs, discarded) => {
    expect(verdictOn(lines, jobs, discarded).violations).toEqual([])
  })

  it.each([
    ['lost', acknowledged, []],
    ['lost', `${acknowledged}, finished a`, []],
    ['lost', 'invoked a dropped, enqueued a id-a, finished a', []],
    ['lost', `${parent}, finished a`, [stored('a', { ...asParent, ...done })]],
    ['taken back', `${acknowledged}, finished a`, [stored('a')]],
    ['taken back', `${acknowledged}, cancelled a`, [stored('a')]],
    ['taken back', `${acknowledged}, dead a`, [stored('a', { state: 'running' })]],
    ['taken back', 'invoked a dropped, enqueued a id-a, finished a', [stored('a', { queue: 'dropped' })]],
    ['wrong result', `${acknowledged}, finished a`, [stored('a', { ...done, result: '"b"' })]],
    ['run again', `${acknowledged}, finished a, started a`, [stored('a', done)]],
    ['unexpected', acknowledged, [stored('a'), stored('b')]],
    ['doubled', acknowledged, [stored('a'), stored('a', { id: 'other' })]],
    ['damaged', acknowledged, [stored('a', { payload: '{"key":"a","fill":"' })]],
    ['damaged', acknowledged, [stored('a', { payload: '{"key":"a","fill":"b"}' })]],
    ['not atomic', parent, [stored('a', asParent), stored('a/kept')]],
    ['not atomic', parent, [stored('a', { ...asParent, ...done })]],
  ])('finds what is %s (%s)', (kind, lines, jobs) => {
    const { violations } = verdictOn(lines, jobs)

    expect(violations.some((one) => one.startsWith(`${kind}:`))).toBe(true)
  })

  it('finds what has not ended after a drain', () => {
    const holdings = { jobs: [stored('a')], wasDiscarded: () => false }

    const { violations } = judge([line('invoked a kept')], holdings, { drained: true, bytes: BYTES })

    expect(violations).toEqual(['not drained: job id-a is ready'])
  })
})
