import { describe, expectTypeOf, it } from 'vitest'
import { flow, queue, type Settled, settled } from '../../src/index.ts'

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
})
