import { expect, it } from 'vitest'
import { workHint } from '../../src/notifier/notifier.ts'
import { createChannelNotifier } from '../../src/notifiers/shared/channel-notifier.ts'
import { readLetter } from '../../src/notifiers/shared/hint-codec.ts'
import { virtualRuntime } from '../../src/testing/virtual-runtime.ts'

const hint = (queue: string) => workHint({ space: 'default', queue, dueAt: 0, priority: 0 })

/** A channel that keeps what is sent, and the queues that a text tells of. */
function openChannel() {
  const runtime = virtualRuntime({ seed: 1 })
  const sent: string[] = []
  const channel = { send: async (text: string) => void sent.push(text), takesLetters: true, session: null }
  const notifier = createChannelNotifier(channel, { runtime, apartMs: 2, mostBytes: 1_000 })
  const queuesIn = (text: string | null | undefined) =>
    text && readLetter(text, 1_000)?.hints.map((one) => one.kind === 'work' && one.queue)
  return { runtime, sent, notifier, queuesIn }
}

it('A letter may go along with a call if none went a moment ago, and nothing waits to go', async () => {
  const { runtime, sent, notifier, queuesIn } = openChannel()

  expect(queuesIn(notifier.along?.([hint('a'), hint('a')]))).toEqual(['a'])
  expect(notifier.along?.([hint('b')])).toBe(null)
  notifier.publish([hint('b')])
  await runtime.advance(1)
  expect(sent).toEqual([])

  await runtime.advance(1)
  expect(sent.map(queuesIn)).toEqual([['b']])
  await runtime.advance(2)
  expect(queuesIn(notifier.along?.([hint('c')]))).toEqual(['c'])
  await runtime.advance(2)
  expect(sent).toHaveLength(1)

  notifier.publish([hint('d')])
  expect(notifier.along?.([hint('e')])).toBe(null)
  await runtime.settle()
  expect(sent.map(queuesIn)).toEqual([['b'], ['d']])
})

it('What goes along is heard in the same process too, and not twice', async () => {
  const { runtime, sent, notifier } = openChannel()
  const heard: string[] = []
  notifier.subscribe((hints) =>
    heard.push(...hints.map((one) => (one.kind === 'work' ? one.queue : one.kind))),
  )
  await runtime.settle()

  notifier.along?.([hint('a')])
  await runtime.advance(10)

  expect(heard).toEqual(['sync', 'a'])
  expect(sent).toEqual([])
})
