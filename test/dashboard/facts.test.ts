import { describe, expect, it } from 'vitest'
import { ratesBetween, sampleOf } from '../../dashboard/src/screens/receivers/rates.ts'
import { noteText } from '../../dashboard/src/screens/schedules/slot-note.ts'
import { fixParts } from '../../dashboard/src/screens/system/fix-parts.ts'
import { versionsOf } from '../../dashboard/src/screens/workers/worker-facts.ts'
import { SCOPES, type SlotPreview } from '../../src/operations/schema/wire-types.ts'

const BERLIN = 'Europe/Berlin'

function slot(at: string, local: string, note: SlotPreview['note'] = null): SlotPreview {
  return { at, local, note }
}

describe('what the clocks do to a slot', () => {
  const usual = [
    slot('2027-03-14T01:30:00Z', '2027-03-14 02:30:00 +01:00'),
    slot('2027-03-21T01:30:00Z', '2027-03-21 02:30:00 +01:00'),
  ]

  it('is told where a time does not exist', () => {
    const gap = slot('2027-03-28T01:00:00Z', '2027-03-28 03:00:00 +02:00', 'clocks-forward')
    expect(noteText(gap, [...usual, gap], BERLIN)).toBe(
      'Clocks go forward: 02:30 does not exist that night. It fires at 03:00.',
    )
  })

  it('is told where only the distance changes', () => {
    const nine = (at: string, local: string, note: SlotPreview['note'] = null): SlotPreview =>
      slot(at, local, note)
    const slots = [
      nine('2027-03-27T08:00:00Z', '2027-03-27 09:00:00 +01:00'),
      nine('2027-03-28T07:00:00Z', '2027-03-28 09:00:00 +02:00', 'clocks-forward'),
    ]
    expect(noteText(slots[1] as SlotPreview, slots, BERLIN)).toMatch(/one hour shorter/)
    expect(noteText(slots[0] as SlotPreview, slots, BERLIN)).toBeNull()
  })

  it('is told where a time comes twice, and only what is sure of one that runs often', () => {
    const once = slot('2026-10-25T00:30:00Z', '2026-10-25 02:30:00 +02:00', 'comes-twice')
    const again = slot('2026-10-25T01:30:00Z', '2026-10-25 02:30:00 +01:00', 'comes-twice')
    expect(noteText(once, [once], BERLIN)).toBe(
      'Clocks go back: 02:30 occurs twice that night. It fires once.',
    )
    expect(noteText(again, [once, again], BERLIN)).toBe('Clocks go back: 02:30 occurs twice that night.')
  })

  it('is no other hour for what runs often', () => {
    const slots = [
      slot('2027-03-28T00:30:00Z', '2027-03-28 01:30:00 +01:00'),
      slot('2027-03-28T01:00:00Z', '2027-03-28 03:00:00 +02:00', 'clocks-forward'),
    ]
    expect(noteText(slots[1] as SlotPreview, slots, BERLIN)).toBe('Clocks go forward before this slot.')
  })

  it('is nothing for intervals', () => {
    expect(noteText(slot('2026-10-25T00:30:00Z', '', 'clocks-back'), [], null)).toBeNull()
  })
})

it('tells commands and SQL from the words around them', () => {
  expect(fixParts('List them: skep dead list --queue pack')).toEqual({
    prose: 'List them:',
    code: 'skep dead list --queue pack',
  })
  expect(fixParts('ALTER SYSTEM SET fsync = on;')).toEqual({
    prose: null,
    code: 'ALTER SYSTEM SET fsync = on;',
  })
  expect(fixParts('Ask the one who runs it: Ada')).toEqual({
    prose: 'Ask the one who runs it: Ada',
    code: null,
  })
})

it('counts the versions of workers, most first', () => {
  const workers = ['2', '1', '2', null].map((version) => ({ version }))
  expect(versionsOf(workers)).toEqual([
    ['2', 2],
    ['1', 1],
  ])
})

it('tells how fast receivers answer between two looks, and nothing of those that are new', () => {
  const before = sampleOf([{ id: 'a', acked: 100, nacked: 0 }], 1_000)
  const after = sampleOf(
    [
      { id: 'a', acked: 190, nacked: 10 },
      { id: 'b', acked: 5, nacked: 0 },
    ],
    3_000,
  )
  expect([...ratesBetween(before, after)]).toEqual([['a', 50]])
  expect(ratesBetween(after, after).size).toBe(0)
})

it('knows words for every scope that a token can have', async () => {
  const { SCOPE_DESCRIPTIONS } = await import('../../dashboard/src/screens/tokens/scope-descriptions.ts')
  expect(Object.keys(SCOPE_DESCRIPTIONS).toSorted()).toEqual([...SCOPES].toSorted())
})
