import { expect, it } from 'vitest'
import { Enqueuer } from '../../src/client/enqueue/batcher.ts'
import { StoreError } from '../../src/core/errors.ts'
import { localNotifier } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Hint } from '../../src/notifier/notifier.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { InsertCall, Store } from '../../src/store/store.ts'
import { newJob } from '../support/new-job.ts'

/** What happens, in order, when jobs are inserted into a store that answers only after a turn of the event loop. */
function openStory(tellsEarly: boolean, failures = 0, along?: () => string | null, isLate = false) {
  const runtime = systemRuntime()
  const story: string[] = []
  const memory = memoryStore()
  let left = failures
  const store: Store = {
    ...memory,
    async insert(call: InsertCall) {
      story.push(call.letter === undefined ? 'sent' : `sent with ${call.letter}`)
      await new Promise<void>((resolve) => runtime.defer(resolve))
      if (left-- > 0) throw new StoreError('STORE_UNAVAILABLE', 'Not now.')
      const reply = await memory.insert(call)
      story.push('answered')
      return isLate ? { ...reply, isLate } : reply
    },
  }
  const notifier = {
    ...localNotifier({ runtime }),
    publish: (hints: readonly Hint[]) => story.push(...hints.map((hint) => `told ${hint.kind}`)),
    ...(along && { along }),
  }
  const enqueuer = new Enqueuer({ store, notifier, runtime, timeoutMs: 5_000, tellsEarly })
  return { story, enqueuer }
}

it('A job is told of while its insert is on its way, where that is early enough, and once', async () => {
  const { story, enqueuer } = openStory(true)

  await enqueuer.insert([newJob(), newJob()], false)

  expect(story).toEqual(['sent', 'told work', 'answered'])
})

it('Elsewhere it is told of when it is there', async () => {
  const { story, enqueuer } = openStory(false)

  await enqueuer.insert([newJob()], false)

  expect(story).toEqual(['sent', 'answered', 'told work'])
})

it('A job that is due later is told of when its time is known', async () => {
  const { story, enqueuer } = openStory(true)

  await enqueuer.insert([newJob({ delayMs: 1_000 })], false)

  expect(story).toEqual(['sent', 'answered', 'told work'])
})

it('What was told of too early, because the insert failed at first, is told of again', async () => {
  const { story, enqueuer } = openStory(true, 1)

  await enqueuer.insert([newJob()], false)

  expect(story).toEqual(['sent', 'told work', 'sent', 'answered', 'told work'])
})

it('A letter goes along with the insert, where the store takes one and it is not too soon', async () => {
  const letters = ['a letter', null]
  const { story, enqueuer } = openStory(true, 0, () => letters.shift() ?? null)

  await enqueuer.insert([newJob()], false)
  await enqueuer.insert([newJob()], false)

  expect(story).toEqual(['sent with a letter', 'answered', 'sent', 'told work', 'answered'])
})

it('What a letter told of too early is told of again', async () => {
  const { story, enqueuer } = openStory(true, 1, () => 'a letter')

  await enqueuer.insert([newJob()], false)

  expect(story).toEqual(['sent with a letter', 'sent', 'answered', 'told work'])
})

it('What was told of too early, because the store took the long way, is told of again', async () => {
  const { story, enqueuer } = openStory(true, 0, undefined, true)

  await enqueuer.insert([newJob()], false)

  expect(story).toEqual(['sent', 'told work', 'answered', 'told work'])
})
