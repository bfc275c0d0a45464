import { describe, expect, it } from 'vitest'
import { AT_MOST, secondTry } from '../../scripts/second-try.mjs'

const failed = (path: string) => ({ name: `/clone/${path}`, status: 'failed' })
const passed = (path: string) => ({ name: `/clone/${path}`, status: 'passed' })

describe('a second try', () => {
  it('is for what waits for processes and servers', () => {
    const results = [failed('test/redis/sentinel.test.ts'), passed('test/crash/kill.test.ts')]

    expect(secondTry('/clone', results)).toEqual(['test/redis/sentinel.test.ts'])
  })

  it.each([
    'test/core/policy.test.ts',
    'test/simulation/memory.test.ts',
    'test/conformance/redis.test.ts',
    'test/docs/docs.test.ts',
    'src/core/cron.test.ts',
  ])('is not for what decides by itself: %s', (path) => {
    expect(secondTry('/clone', [failed(path), failed('test/redis/sentinel.test.ts')])).toEqual([])
  })

  it('is not for many', () => {
    const many = Array.from({ length: AT_MOST + 1 }, (_, n) => failed(`test/cli/${n}.test.ts`))

    expect(secondTry('/clone', many)).toEqual([])
    expect(secondTry('/clone', many.slice(1))).toHaveLength(AT_MOST)
  })

  it('is not for nothing', () => {
    expect(secondTry('/clone', [passed('test/cli/a.test.ts')])).toEqual([])
  })
})
