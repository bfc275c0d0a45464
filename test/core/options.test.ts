import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { assertOptions, declaredOptions, optionKeys } from '../../src/core/options.ts'

const KEYS = optionKeys<{ delay?: string; priority?: number }>('a test', { delay: true, priority: true })

describe('The check of options', () => {
  it('makes no list and reads no value when all of them exist, because every enqueue has it on its way', () => {
    const lists = [
      vi.spyOn(Object, 'keys'),
      vi.spyOn(Object, 'entries'),
      vi.spyOn(Object, 'values'),
      vi.spyOn(Object, 'getOwnPropertyNames'),
      vi.spyOn(Reflect, 'ownKeys'),
    ]
    onTestFinished(() => void vi.restoreAllMocks())
    const read = vi.fn()
    const options = Object.defineProperty({ priority: 1 }, 'delay', { enumerable: true, get: read })

    const all = [options, {}, undefined]
    for (const list of lists) list.mockClear()
    for (const given of all) assertOptions(KEYS, given)
    const calls = lists.map(({ mock }) => mock.calls.length)
    const reads = read.mock.calls.length

    expect(calls).toEqual(lists.map(() => 0))
    expect(reads).toBe(0)
  })

  it('finds what is inherited too, and is listed with its names', () => {
    const inherited = Object.create({ dealy: 1 }) as object

    expect(() => assertOptions(KEYS, inherited)).toThrow('has no option "dealy". Did you mean "delay"?')
    expect(declaredOptions()).toContain(KEYS)
  })
})
