import { describe, expect, it } from 'vitest'
import { CONTESTANTS } from '../../bench/contestants.ts'
import { type Options, readOptions } from '../../bench/options.ts'
import { SCENARIOS } from '../../bench/scenarios/index.ts'

function read(...args: string[]): Options {
  return readOptions(args, { contestants: CONTESTANTS, scenarios: SCENARIOS })
}

function names(things: readonly { readonly name: string }[]): string[] {
  return things.map(({ name }) => name)
}

describe('the options of the benchmark', () => {
  it('takes everything when nothing is said', () => {
    expect(read()).toMatchObject({ quick: false, json: null, contestants: CONTESTANTS, scenarios: SCENARIOS })
  })

  it('chooses by the beginning of a name or a store, upper or lower case', () => {
    const all = read('--only', 'redis,SKEP').contestants

    expect(all.every(({ kind, store }) => kind === 'skep' || store === 'redis')).toBe(true)
    expect(new Set(all.map(({ store }) => store))).toEqual(new Set(['postgres', 'sqlite', 'redis']))
    expect(names(read('--scenario', 'drain').scenarios)).toEqual(
      expect.arrayContaining(['drain-one', 'drain-two']),
    )
  })

  it('chooses one by its whole name, which may have a comma', () => {
    expect(names(read('--only', 'pg-boss, batches').contestants)).toEqual(['pg-boss, batches'])
  })

  it('writes JSON to the standard output or to a file', () => {
    expect(read('--json').json).toBe('-')
    expect(read('--json', 'result.json').json).toBe('result.json')
  })

  it('does few scenarios when it should be quick, and others when they are named', () => {
    expect(names(read('--quick').scenarios)).toEqual(['enqueue', 'drain-one', 'latency'])
    expect(names(read('--quick', '--scenario', 'killed').scenarios)).toEqual(['killed'])
  })

  it('says what there is when somebody asks for something else', () => {
    expect(() => read('--only', 'kafka')).toThrow('There is no "kafka". --only takes: Skep')
    expect(() => read('--rounds', 'many')).toThrow('--rounds takes a number')
    expect(() => read('result.json')).toThrow('A file goes after --json')
  })
})
