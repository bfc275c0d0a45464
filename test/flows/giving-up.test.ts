// What becomes of a run when a function of its flow throws again and again.
import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { retryRun } from '../../src/client/flows/change-runs.ts'
import { flowMaker } from '../../src/client/flows/flow-handlers.ts'
import { flow, queue, type StandardSchema } from '../../src/index.ts'
import { openScene, type Scene } from '../worker/support/scene.ts'

const hotel = queue<{ n: number }, { room: number }>('hotel')
const flight = queue<{ n: number }, { seat: string }>('flight')
const pay = queue<{ amount: number }, { paid: boolean }>('pay')
const leave = queue<{ room: number }>('leave')
const refund = queue<{ seat: string }>('refund')

/** A schema that takes nothing. */
const refusing: StandardSchema<{ seat: string }, { seat: string }> = {
  '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'never' }] }) },
}

interface Trip {
  readonly scene: Scene
  readonly said: string[]
}

function openTrip(): Trip {
  const scene = openScene()
  const said: string[] = []
  scene.skep.worker([
    hotel.handle(({ payload }) => {
      said.push('hotel')
      return { room: payload.n }
    }),
    flight.handle(() => {
      said.push('flight')
      return { seat: '3A' }
    }),
    pay.handle(() => {
      said.push('pay')
      return { paid: true }
    }),
    leave.handle(({ payload }) => void said.push(`leave ${payload.room}`)),
    refund.handle(({ payload }) => void said.push(`refund ${payload.seat}`)),
  ])
  return { scene, said }
}

describe('a run whose flow throws', () => {
  it('undoes what was done, the last first, and can be retried', async () => {
    const { scene, said } = openTrip()
    let isBroken = true
    const trip = flow('trip', (f) =>
      f
        .input<{ n: number }>()
        .step(hotel, { undo: leave })
        .step(flight, { undo: refund })
        .step(pay, () => {
          if (isBroken) throw new Error('no price')
          return { amount: 1 }
        }),
    )
    scene.skep.worker([trip])
    const run = await scene.skep.start(trip, { n: 7 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect(said).toEqual(['hotel', 'flight', 'refund 3A', 'leave 7'])
    expect((await run.get())?.failure?.message).toContain('no price')
    isBroken = false
    await run.retry()
    await scene.until(async () => (await run.get())?.status === 'done')
    expect(said.slice(4)).toEqual(['hotel', 'flight', 'pay'])
  })

  it('undoes the others when one undo cannot be enqueued', async () => {
    const { scene, said } = openTrip()
    const picky = queue('picky', { payload: refusing })
    const trip = flow('trip', (f) =>
      f
        .input<{ n: number }>()
        .step(hotel, { undo: leave })
        .step(flight, { undo: picky })
        .step(pay, () => {
          throw new Error('no price')
        }),
    )
    scene.skep.worker([trip])

    const run = await scene.skep.start(trip, { n: 7 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect(said).toEqual(['hotel', 'flight', 'leave 7'])
    expect((await run.get())?.failure?.message).toContain('no price')
  })

  it('undoes what a step did whose result is too much for the state', async () => {
    const scene = openScene()
    const said: number[] = []
    const large = queue<{ n: number }, { text: string }>('large')
    const small = queue<{ text: string }>('small')
    const grow = flow('grow', (f) =>
      f
        .input<{ n: number }>()
        .step(large, { undo: small })
        .step(large, { name: 'more', as: 'more', undo: small }),
    )
    scene.skep.worker([
      grow,
      large.handle(() => ({ text: 'x'.repeat(200_000) })),
      small.handle(({ payload }) => void said.push(payload.text.length)),
    ])

    const run = await scene.skep.start(grow, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect(said).toEqual([200_000, 200_000])
    expect((await run.get())?.failure?.message).toContain('bytes')
  })

  it('undoes nothing when somebody retries it from a step that there is not', async () => {
    const { scene, said } = openTrip()
    const trip = flow('trip', (f) =>
      f.input<{ n: number }>().step(hotel, { undo: leave }).sleep('1h').step(flight),
    )
    scene.skep.worker([trip])
    const run = await scene.skep.start(trip, { n: 7 })
    await scene.until(() => said.length === 1)
    await scene.until(async () => (await run.get())?.position.step === 'sleep 1')
    await run.cancel('wait')
    // Those who know the flow are refused.
    const maker = flowMaker({
      runtime: scene.runtime,
      space: 'default',
      prepare: () => assert.fail(),
      payloadBytes: 1,
    })
    await retryRun({ store: scene.truth, space: 'default', maker }, run.id, 'nowhere')
    await scene.until(async () => (await run.get())?.status === 'failed')
    expect((await run.get())?.failure?.message).toContain('no step "nowhere"')

    await run.retry({ from: 'flight' })
    await scene.until(async () => (await run.get())?.status === 'done')

    expect(said).toEqual(['hotel', 'flight'])
  })
})

describe('what a run can undo', () => {
  const many = (most: number) => () =>
    flow('many', (f) =>
      f.input<{ n: number }>().repeat({ most, while: () => true }, (g) => g.step(hotel, { undo: leave })),
    )

  it('is bounded, and a flow that could have more is refused', () => {
    expect(many(1_000)).not.toThrow()
    expect(many(1_001)).toThrow('could have to undo 1001 steps')
  })

  it('is bounded in its size, and then undone', async () => {
    const scene = openScene()
    const undone: number[] = []
    const large = queue<{ n: number }, string>('large')
    const small = queue<string>('small')
    const grow = flow('grow', (f) =>
      f
        .input<{ n: number }>()
        .repeat({ most: 100, while: () => true }, (g) => g.step(large, { as: 'last', undo: small })),
    )
    scene.skep.worker([
      grow,
      large.handle(() => 'x'.repeat(60_000)),
      small.handle(({ payload }) => void undone.push(payload.length)),
    ])

    const run = await scene.skep.start(grow, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect(undone).toEqual(Array.from({ length: 5 }, () => 60_000))
    expect((await run.get())?.failure?.message).toContain('The results kept for the undo steps of a run have')
  })
})
