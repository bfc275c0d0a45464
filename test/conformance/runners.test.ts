import * as nodeTest from 'node:test'
import * as vitest from 'vitest'
import { expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { describeStore, type Runner } from '../../src/testing.ts'

// The types have to fit as they are; the compiler is the test.
const runners = [vitest, nodeTest] satisfies Runner[]

it('asks a runner for nothing but describe and it', async () => {
  const cases: [string, () => Promise<void>][] = []
  const path: string[] = []
  const bare: Runner = {
    describe(name, body) {
      path.push(name)
      body()
      path.pop()
    },
    it: (name, body) => cases.push([[...path, name].join(' > '), body]),
  }

  describeStore('bare', () => memoryStore(), bare)
  const failed: string[] = []
  for (const [name, body] of cases)
    await body().catch((error: Error) => failed.push(`${name}: ${error.message}`))

  expect(runners.length).toBe(2)
  expect(failed).toEqual([])
  expect(new Set(cases.map(([name]) => name)).size).toBe(cases.length)
  expect(cases.length).toBeGreaterThan(300)
})
