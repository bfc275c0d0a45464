import { describe, expect, it } from 'vitest'
import { AckBatch } from '../../src/server/receivers/ack-batch.ts'

const acks = ['a', 'b'].map((id) => ({ id, token: `token of ${id}` }))

describe('a batch of acks', () => {
  it('has one word on each, which is the first, and is answered when all have theirs', async () => {
    const batch = new AckBatch(acks, 0)
    batch.word(1, 'lost')
    batch.word(1, 'ok')
    expect(batch.isOpen).toBe(true)
    batch.word(0, 'ok')

    expect(batch.isOpen).toBe(false)
    expect(await batch.answer).toEqual({ saved: 1, results: [{ id: 'b', status: 'lost' }] })
  })

  it('is answered when the time is up, and what has no word is unknown', async () => {
    const batch = new AckBatch(acks, 0)
    batch.word(0, 'ok')
    batch.giveUp()
    batch.word(1, 'ok')

    expect(batch.isOpen).toBe(false)
    expect(await batch.answer).toEqual({ saved: 1, results: [{ id: 'b', status: 'unknown' }] })
  })

  it('of none is answered at once', async () => {
    expect(await new AckBatch([], 0).answer).toEqual({ saved: 0, results: [] })
  })
})
