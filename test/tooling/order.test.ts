import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { inTurns } from '../support/longest-first.ts'

it('starts the longest first, one that computes beside those that wait', () => {
  const files = [
    { path: 'test/core/short.test.ts', seconds: 1, isAlone: true },
    { path: 'test/crash/long.test.ts', seconds: 50, isAlone: true },
    { path: 'test/simulation/a.test.ts', seconds: 100, isAlone: true },
    { path: 'test/simulation/b.test.ts', seconds: 90, isAlone: true },
    { path: 'test/crash/longer.test.ts', seconds: 60, isAlone: true },
  ]

  expect(inTurns(files, 2).map(({ path }) => path)).toEqual([
    'test/simulation/a.test.ts',
    'test/crash/longer.test.ts',
    'test/crash/long.test.ts',
    'test/simulation/b.test.ts',
    'test/core/short.test.ts',
  ])
  expect(inTurns(files, 1)[1]?.path).toBe('test/simulation/b.test.ts')
})

it('starts those that share a process last, one after the other', () => {
  const files = [
    { path: 'test/core/a.test.ts', seconds: 1, isAlone: false },
    { path: 'test/crash/a.test.ts', seconds: 2, isAlone: true },
    { path: 'test/flows/a.test.ts', seconds: 30, isAlone: false },
    { path: 'test/crash/b.test.ts', seconds: 1, isAlone: true },
  ]

  expect(inTurns(files, 2).map(({ path }) => path)).toEqual([
    'test/crash/a.test.ts',
    'test/crash/b.test.ts',
    'test/flows/a.test.ts',
    'test/core/a.test.ts',
  ])
})

it('has weights of files that are there', () => {
  const url = new URL('../support/weights.json', import.meta.url)
  const paths = Object.keys(JSON.parse(readFileSync(url, 'utf8')))

  expect(paths.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([])
})
