import { describe, expect, it } from 'vitest'
import { previewOf } from '../../src/operations/schedules/slots.ts'

const BERLIN = 'Europe/Berlin'
const now = Date.parse('2026-11-16T12:00:00Z')

function notesOf(zone: string, from: number, ...slots: string[]): (string | null)[] {
  return previewOf(
    slots.map((slot) => new Date(slot)),
    zone,
    from,
  ).map(({ note }) => note)
}

describe('the preview of slots', () => {
  it('shows the clock on the wall of the zone, with how far it is from UTC', () => {
    const slots = [new Date('2026-11-16T08:30:00Z'), new Date('2027-06-01T12:00:00Z')]
    const localOf = (zone: string): string[] => previewOf(slots, zone, now).map(({ local }) => local)
    expect(localOf(BERLIN)).toEqual(['2026-11-16 09:30:00 +01:00', '2027-06-01 14:00:00 +02:00'])
    expect(localOf('America/St_Johns')).toEqual(['2026-11-16 05:00:00 -03:30', '2027-06-01 09:30:00 -02:30'])
  })

  it('marks the slot before which the clocks change', () => {
    expect(notesOf(BERLIN, now, '2027-03-27T08:00:00Z', '2027-03-28T07:00:00Z')).toEqual([
      null,
      'clocks-forward',
    ])
    expect(notesOf('America/New_York', now, '2027-03-13T14:00:00Z', '2027-03-14T13:00:00Z')).toEqual([
      null,
      'clocks-forward',
    ])
  })

  it('marks the first one if they change before it', () => {
    expect(notesOf(BERLIN, now, '2027-03-28T01:00:00Z')).toEqual(['clocks-forward'])
    expect(notesOf(BERLIN, Date.parse('2026-10-24T12:00:00Z'), '2026-10-25T08:00:00Z')).toEqual([
      'clocks-back',
    ])
  })

  it('marks a time that comes twice, whichever of the two it is, and no other', () => {
    const summer = Date.parse('2026-10-24T12:00:00Z')
    expect(notesOf(BERLIN, summer, '2026-10-25T00:30:00Z')).toEqual(['comes-twice'])
    expect(notesOf(BERLIN, summer, '2026-10-25T01:30:00Z')).toEqual(['comes-twice'])
    expect(notesOf(BERLIN, summer, '2026-10-24T23:30:00Z')).toEqual([null])
    expect(notesOf(BERLIN, summer, '2026-10-25T02:30:00Z')).toEqual(['clocks-back'])
    expect(notesOf(BERLIN, Date.parse('2027-03-28T02:00:00Z'), '2027-03-28T02:30:00Z')).toEqual([null])
  })

  it('marks nothing in zones without such changes', () => {
    expect(notesOf('Asia/Tokyo', now, '2026-10-25T00:30:00Z', '2027-03-28T01:00:00Z')).toEqual([null, null])
    expect(notesOf('UTC', now, '2026-10-25T00:30:00Z', '2027-03-28T01:00:00Z')).toEqual([null, null])
  })
})
