import { expect, it } from 'vitest'
import { Enqueuer } from '../../src/client/enqueue/batcher.ts'
import { StoreError } from '../../src/core/errors.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { localNotifier } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { InsertCall, Store } from '../../src/store/store.ts'
import { newJob } from '../support/new-job.ts'

type Answer = 'ok' | 'busy' | 'lost' | 'lost after'

/** A store in which inserts can run into keys of others. It says what each call is answered. */
function openStory(answer: (call: InsertCall, n: number) => Answer, timeoutMs = 5_000) {
  const runtime = systemRuntime()
  const memory = memoryStore()
  const calls: InsertCall[] = []
  const store: Store = {
    ...memory,
    capabilities: { ...memory.capabilities, waitsForKeys: true },
    async insert(call) {
      calls.push(call)
      const said = answer(call, calls.length)
      await new Promise<void>((resolve) => runtime.defer(resolve))
      if (said === 'busy') throw new StoreError('STORE_BUSY', 'Held.')
      const reply = said === 'lost' ? null : await memory.insert(call)
      if (said === 'lost' || said === 'lost after') throw new StoreError('STORE_UNKNOWN', 'Lost.')
      return reply as NonNullable<typeof reply>
    },
  }
  const enqueuer = new Enqueuer({ store, notifier: localNotifier({ runtime }), runtime, timeoutMs })
  const count = async (): Promise<number> =>
    (await memory.counts({ space: 'acme' })).queues.reduce((sum, { states }) => sum + states.ready, 0)
  return { calls, enqueuer, count }
}

const keyed = (key: string): NewJob =>
  newJob({ unique: { key, scope: 'active', windowMs: 0, onConflict: 'ignore' } })

const keysOf = ({ jobs }: InsertCall): string[] => jobs.map(({ unique }) => unique?.key ?? '')

it('An insert of which an answer was lost before its key was held says so when it is repeated', async () => {
  const answers: Answer[] = ['lost after', 'busy', 'busy', 'ok']
  const { calls, enqueuer, count } = openStory((_, n) => answers[n - 1] ?? 'ok')

  const [result] = await enqueuer.insert([keyed('k')], false)

  expect(result).toMatchObject({ status: 'ok' })
  expect(calls.map(({ again }) => again ?? false)).toEqual([false, true, true, true])
  expect(await count()).toBe(1)
})

it.each([
  ['that nothing happened', 'busy', 'STORE_BUSY'],
  ['that nobody knows, if an answer was lost before', 'lost', 'STORE_UNKNOWN'],
] as const)('A key that stays held ends its inserts, which say %s', async (_, first, code) => {
  const { enqueuer } = openStory((_call, n) => (n === 1 ? first : 'busy'), 400)

  await expect(enqueuer.insert([keyed('k')], false)).rejects.toMatchObject({ code })
})

it('Many inserts of a held key ask the store as often as one', async () => {
  const { calls, enqueuer } = openStory(() => 'busy', 1_500)

  const all = await Promise.allSettled(
    Array.from({ length: 200 }, () => enqueuer.insert([keyed('k')], false)),
  )

  expect(new Set(all.map((one) => one.status === 'rejected' && one.reason.code))).toEqual(
    new Set(['STORE_BUSY']),
  )
  // The first batch, and one at a time after that.
  expect(calls.filter(({ jobs }) => jobs.length > 1)).toHaveLength(1)
  expect(calls.length).toBeLessThan(40)
})

it('Of a batch in which some keys are held, all others are inserted at once', async () => {
  let isHeld = true
  const { calls, enqueuer, count } = openStory((call) =>
    isHeld && keysOf(call).some((key) => key.startsWith('held')) ? 'busy' : 'ok',
  )
  const held = ['held 1', 'held 2', 'held 2'].map((key) => enqueuer.insert([keyed(key)], false))
  const free = Array.from({ length: 60 }, (_, n) => enqueuer.insert([keyed(`free ${n}`)], false))
  const plain = enqueuer.insert([newJob()], false)

  await Promise.all([...free, plain])

  expect(await count()).toBe(61)
  expect(calls.every((call) => new Set(call.jobs.map(({ unique }) => unique === null)).size === 1)).toBe(true)
  isHeld = false
  const results = (await Promise.all(held)).flat()
  expect(results.map(({ status }) => status).toSorted()).toEqual(['duplicate', 'ok', 'ok'])
})

it('An insert of several keys waits for each of them, and keeps no other waiting that needs one of them', async () => {
  let held = new Set(['a', 'b'])
  const { enqueuer, count } = openStory((call) => (keysOf(call).some((key) => held.has(key)) ? 'busy' : 'ok'))
  const both = enqueuer.insert([keyed('a'), keyed('b')], false)
  const one = enqueuer.insert([keyed('b'), keyed('c')], false)
  await enqueuer.insert([keyed('d')], false)

  held = new Set(['a'])
  expect((await one).map(({ status }) => status)).toEqual(['ok', 'ok'])
  held = new Set()

  expect((await both).map(({ status }) => status)).toEqual(['ok', 'duplicate'])
  expect(await count()).toBe(4)
})
