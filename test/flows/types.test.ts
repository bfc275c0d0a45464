import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  first,
  flow,
  type GroupHandle,
  queue,
  type Settled,
  type Skep,
  schedule,
  settled,
} from '../../src/index.ts'

const check = queue<{ userId: number }, { platforms: { name: string }[] }>('check')
const reward = queue<{ name: string }, { role: string }>('reward')
const notify = queue<{ userId: number; rewards: readonly { role: string }[] }, { sent: boolean }>('notify')
const text = queue<{ userId: number }, string>('text')

describe('the types of a flow', () => {
  it('lead the state from step to step', () => {
    const access = flow('access', (f) =>
      f
        .step(check)
        .each('rewards', reward, ({ state }) => state.platforms)
        .step(notify),
    )
    expectTypeOf(access.types).toEqualTypeOf<
      | ((input: { userId: number }) => Omit<
          Omit<Omit<{ userId: number }, 'platforms'> & { platforms: { name: string }[] }, 'rewards'> & {
            readonly rewards: readonly { role: string }[]
          },
          'sent'
        > & { sent: boolean })
      | undefined
    >()
  })

  it('refuse a step whose payload the state is not', () => {
    // @ts-expect-error: reward needs a name, and nothing before it gives one.
    flow('wrong', (f) => f.step(check).step(reward))
    // @ts-expect-error: a number is no name.
    flow('wrong', (f) => f.step(check).step(reward, ({ state }) => ({ name: state.userId })))
    flow('right', (f) => f.step(check).step(reward, ({ state }) => ({ name: `user ${state.userId}` })))
  })

  it('refuse items that the queue does not take', () => {
    // @ts-expect-error: reward takes { name }.
    flow('wrong', (f) => f.step(check).each('rewards', reward, [{ nam: 'x' }]))
  })

  it('know what a step is called in the state, and what joins give', () => {
    flow('named', (f) =>
      f
        .step(text, { as: 'greeting', name: 'greet' })
        .each('all', reward, [{ name: 'a' }], settled)
        .step(text, ({ state }) => {
          expectTypeOf(state.greeting).toEqualTypeOf<string>()
          expectTypeOf(state.all).toEqualTypeOf<readonly Settled<{ role: string }>[]>()
          return { userId: state.userId }
        }),
    )
  })

  it('put the results of branches under their names', () => {
    flow('branches', (f) =>
      f
        .step(check)
        .parallel({ first: text, second: (g) => g.step(text, { as: 'said' }) })
        .step(text, ({ state }) => {
          expectTypeOf(state.first).toEqualTypeOf<string>()
          expectTypeOf(state.second.said).toEqualTypeOf<string>()
          return { userId: state.userId }
        }),
    )
  })

  it('take options of an each, with or without a join', () => {
    flow('options', (f) =>
      f
        .step(check)
        .each('one', reward, [{ name: 'a' }], { priority: 3, lane: 'x', delay: '1s' })
        .each('two', reward, [{ name: 'a' }], { join: settled, priority: 3 })
        .each('three', reward, [{ name: 'a' }], first(1))
        .step(text, ({ state }) => {
          expectTypeOf(state.one).toEqualTypeOf<readonly { role: string }[]>()
          expectTypeOf(state.two).toEqualTypeOf<readonly Settled<{ role: string }>[]>()
          expectTypeOf(state.three).toEqualTypeOf<readonly { role: string }[]>()
          return { userId: state.userId }
        }),
    )
    // @ts-expect-error: the jobs of a step have no ids of their own.
    const wrong = () => flow('wrong', (f) => f.step(check).each('one', reward, [{ name: 'a' }], { id: 'x' }))
    expect(wrong).toThrow(/has no option "id"/)
  })
})

describe('the types of groups', () => {
  const { groups, start } = {} as Skep
  const size = queue<{ width: number; height: number }, number>('size')
  const pair = queue<[string, number], boolean>('pair')
  const chunk = queue<readonly number[], number>('chunk')

  it('know what is mapped and what comes of it', () => {
    const mapped = () => groups.map(reward, [{ name: 'a' }], { job: (item) => ({ lane: item.name }) })
    expectTypeOf(mapped).returns.resolves.toEqualTypeOf<GroupHandle<{ role: string }>>()
    // @ts-expect-error: reward takes { name }.
    const wrong = () => groups.map(reward, [{ nam: 'a' }])
    const chunked = () => groups.map(chunk, [1, 2, 3], { chunk: 2 })
    expectTypeOf(chunked).returns.resolves.toEqualTypeOf<GroupHandle<number>>()
    // @ts-expect-error: reward takes one, not many.
    const single = () => groups.map(reward, [{ name: 'a' }], { chunk: 2 })
    // @ts-expect-error: chunk takes numbers.
    const texts = () => groups.map(chunk, ['a'], { chunk: 2 })
    expectTypeOf([wrong, single, texts]).toBeArray()
  })

  it('spread lists of arguments', () => {
    const spread = () =>
      groups.starmap(size, [[1, 2]], (width, height) => {
        expectTypeOf(width).toEqualTypeOf<number>()
        return { width, height }
      })
    expectTypeOf(spread).returns.resolves.toEqualTypeOf<GroupHandle<number>>()
    const tuple = () => groups.starmap(pair, [['a', 1]])
    expectTypeOf(tuple).returns.resolves.toEqualTypeOf<GroupHandle<boolean>>()
    // @ts-expect-error: the second is a number.
    const wrong = () => groups.starmap(pair, [['a', 'b']])
    // @ts-expect-error: a size is of numbers.
    const other = () => groups.starmap(size, [['a', 2]], (width, height) => ({ width, height }))
    expectTypeOf([wrong, other]).toBeArray()
  })

  it('let a draft have no id, and spawn no transaction', () => {
    // @ts-expect-error: an id of one's own could be that of another job.
    const withId = () => square.job(1, { id: 'x' })
    const square = queue<number, number>('square')
    // @ts-expect-error: it goes with the success of the handler.
    const spawns = square.handle(({ spawn }) => spawn([], { tx: {} }) as never)
    expectTypeOf([withId, spawns]).toBeArray()
  })

  it('ask for what a flow starts with, also of a schedule', () => {
    const access = flow('access', (f) => f.step(check))
    // @ts-expect-error: it starts with a userId.
    const started = () => start(access, { user: 1 })
    schedule('right', { flow: access, input: { userId: 1 }, cron: '@daily', attributes: { a: 1 } })
    schedule('function', { flow: access, input: ({ slot }) => ({ userId: slot.getTime() }), every: '1h' })
    // @ts-expect-error: it starts with a userId.
    const wrong = () => schedule('wrong', { flow: access, input: { user: 1 }, cron: '@daily' })
    // @ts-expect-error: it needs an input.
    const without = () => schedule('wrong', { flow: access, cron: '@daily' })
    const daily = { flow: access, input: { userId: 1 }, cron: '@daily' } as const
    // @ts-expect-error: what overlaps are jobs.
    const overlap = () => schedule('wrong', { ...daily, overlap: 'skip' })
    expectTypeOf([started, wrong, without, overlap]).toBeArray()
  })
})
