import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { ClaimCall, SettleCall } from '../../src/store/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { eventually, openNotifier, openServer } from './world.ts'

const mail = queue<number>('mail')

describe('a worker on NATS', () => {
  it('D2, D27: runs what notices name, in ones and in bulk, and searches for none of it', async () => {
    const nats = await openServer()
    const inner = memoryStore({ runtime: systemRuntime() })
    let searches = 0
    const search = (claim?: Pick<ClaimCall, 'ids'>): void => {
      if (claim !== undefined && claim.ids === undefined) searches++
    }
    const store = {
      ...inner,
      claim: (call: ClaimCall) => {
        search(call)
        return inner.claim(call)
      },
      settle: (call: SettleCall) => {
        search(call.claim)
        return inner.settle(call)
      },
    }
    const notifier = openNotifier({ servers: [...nats.urls] })
    const skep = createSkep({ store, notifier, logger: silentLogger })
    onTestFinished(() => skep.close())
    const ran: string[] = []
    await skep.worker([mail.handle(({ id }) => void ran.push(id))], { concurrency: 3 }).ready
    await skep.enqueue(mail, 0)
    await eventually('the first job', () => ran.length === 1 && notifier.health().status === 'up')
    // With the connection everything was looked at once. What comes after that look is found without one.
    await skep.enqueue(mail, 0)
    await eventually('the second job', () => ran.length === 2)
    const before = searches

    const one = []
    for (let n = 0; n < 20; n++) one.push(await skep.enqueue(mail, n))
    const bulk = await skep.enqueueMany(
      mail,
      Array.from({ length: 300 }, (_, n) => n),
    )
    await eventually('all jobs', () => ran.length >= 322)

    expect(new Set(ran).size).toBe(322)
    expect(ran.slice(2).toSorted()).toEqual([...one, ...bulk].map(({ id }) => id).toSorted())
    expect(searches).toBe(before)
  })
})
