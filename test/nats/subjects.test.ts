import fc from 'fast-check'
import { expect, it } from 'vitest'
import { subjectsOf, tokenOf } from '../../src/notifiers/nats/subjects.ts'

it('no two names are the same token, and none of its signs means something to NATS', () => {
  const names = fc.string({ unit: fc.constantFrom('a', 'B', '.', '*', '>', ' ', '=', '_', 'é', '2', 'e') })
  fc.assert(
    fc.property(names, names, (a, b) => {
      expect(tokenOf(a)).toMatch(/^[A-Za-z0-9_=~-]+$/)
      expect(tokenOf(a) === tokenOf(b)).toBe(a === b)
    }),
  )
})

it('keeps spaces and queues apart', () => {
  const { noticesOf, consumerOf } = subjectsOf('skep')
  const sources = [
    { space: 'a.b', queue: 'c' },
    { space: 'a', queue: 'b.c' },
    { space: 'a', queue: 'b' },
  ]

  expect(new Set(sources.map(noticesOf)).size).toBe(3)
  expect(new Set(sources.map(consumerOf)).size).toBe(3)
})
