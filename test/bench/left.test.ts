import { describe, expect, it } from 'vitest'
import { checkLeft } from '../../bench/measure/left.ts'
import { Seen } from '../../bench/player/seen.ts'

describe('the left-check of the benchmark', () => {
  it('is content when every job ran once or is still there', () => {
    expect(() => checkLeft({ enqueued: 100, ran: 60, distinct: 60, open: 40 })).not.toThrow()
    expect(() => checkLeft({ enqueued: 100, ran: 0, distinct: 0, open: 100 })).not.toThrow()
  })

  it.each([
    ['a job is lost', { enqueued: 100, ran: 60, distinct: 60, open: 39 }],
    ['a job ran and is still there', { enqueued: 100, ran: 60, distinct: 60, open: 41 }],
    ['a job ran twice', { enqueued: 100, ran: 61, distinct: 60, open: 40 }],
    ['a job ran twice and another is lost', { enqueued: 100, ran: 60, distinct: 59, open: 40 }],
  ])('fails when %s, with the numbers', (_, books) => {
    expect(() => checkLeft(books)).toThrow(`${books.enqueued} jobs were enqueued`)
  })

  it('counts a job once, whichever process saw it', () => {
    const [one, other] = [new Seen(), new Seen()]
    for (const n of [0, 1, 7, 8, 500_000]) one.add(n)
    for (const n of [8, 9, 1_000_000]) other.add(n)

    one.addAll(Seen.fromText(other.toText()))

    expect(other.count()).toBe(3)
    expect(one.count()).toBe(7)
  })
})
