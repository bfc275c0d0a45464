import { describe, expect, it } from 'vitest'
import type { RoundFigure } from '../result.ts'
import { higherIsBetter } from './measure.ts'
import { mergeResults } from './merge.ts'
import { PLACES } from './programme.ts'
import { rounds, sampleResult } from './sample.ts'
import { checkTargets, countTargets, TARGETS, type Target } from './targets.ts'

const target = (more: Omit<Target, 'title' | 'store'>): Target => ({ title: '', store: 'postgres', ...more })

function verdict(one: Target, figures: readonly RoundFigure[]) {
  const [first] = checkTargets(sampleResult(figures), [one])
  if (!first) throw new Error('There is no verdict.')
  return first
}

describe('targets', () => {
  it('ask rates to be high and times to be low', () => {
    for (const { place, atLeast, atMost } of TARGETS) {
      expect(atLeast !== undefined).toBe(higherIsBetter(place))
      expect(atMost !== undefined).toBe(!higherIsBetter(place))
    }
  })

  it('compare with the rival that is best in this measure', () => {
    const one = target({ place: PLACES.drain, against: 'rival', atLeast: 3 })
    const figures = [...rounds(PLACES.drain, 'slow & steady', 10), ...rounds(PLACES.drain, 'quick', 20)]

    const below = verdict(one, [...figures, ...rounds(PLACES.drain, 'Skep', 59.9)])
    const above = verdict(one, [...figures, ...rounds(PLACES.drain, 'Skep', 60)])

    expect(below).toMatchObject({ met: false, asked: '≥ 3 ×', shown: '2.995 ×', note: 'quick: 20.0' })
    expect(above).toMatchObject({ met: true, reached: 3 })
  })

  it('take the lowest latency for the best', () => {
    const one = target({ place: PLACES.idleP99, against: 'rival', atMost: 1 })
    const figures = [...rounds(PLACES.idleP99, 'slow & steady', 9), ...rounds(PLACES.idleP99, 'quick', 3)]

    expect(verdict(one, [...figures, ...rounds(PLACES.idleP99, 'Skep', 4)]).met).toBe(false)
    expect(verdict(one, [...figures, ...rounds(PLACES.idleP99, 'Skep', 3)]).met).toBe(true)
  })

  it('know a bound that must not be touched', () => {
    const one = target({ place: PLACES.workerMemory, against: 'value', atMost: 120, strictly: true })

    expect(verdict(one, rounds(PLACES.workerMemory, 'Skep', 120)).met).toBe(false)
    expect(verdict(one, rounds(PLACES.workerMemory, 'Skep', 119.9)).met).toBe(true)
  })

  it('compare Skep with itself', () => {
    const one = target({
      place: PLACES.pinnedClaim,
      against: { itself: PLACES.pinnedFreeClaim },
      atMost: 1.2,
    })
    const figures = [...rounds(PLACES.pinnedFreeClaim, 'Skep', 2), ...rounds(PLACES.pinnedClaim, 'Skep', 3)]

    expect(verdict(one, figures)).toMatchObject({ met: false, shown: '1.5 ×' })
  })

  it('are not met by what nobody measured', () => {
    const verdicts = checkTargets(sampleResult([]))

    expect(verdicts.every(({ met, note }) => !met && note === 'not measured')).toBe(true)
    expect(countTargets(verdicts)).toBe(`0 of ${TARGETS.length} targets met, ${TARGETS.length} not measured`)
  })

  it('tell when the two were not in one run', () => {
    const one = target({ place: PLACES.drain, against: 'rival', atLeast: 3 })
    const merged = mergeResults([
      sampleResult([...rounds(PLACES.drain, 'Skep', 1), ...rounds(PLACES.drain, 'quick', 1)]),
      sampleResult(rounds(PLACES.drain, 'Skep', 9), { at: '2026-02-02T00:00:00.000Z' }),
    ])

    expect(checkTargets(merged, [one])[0]).toMatchObject({ met: true, note: 'quick: 1.00, in another run' })
  })
})
