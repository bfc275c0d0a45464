import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSkep, queue, silentLogger, systemRuntime } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Receiver } from '../../src/server/receivers/receiver.ts'
import { caller, type FakeReceiver, hubOf, type Scene, scene } from './support/scene.ts'

const mail = queue<{ n: number; text?: string }>('mail')
const numbers = (count: number, text?: string): { n: number; text?: string }[] =>
  Array.from({ length: count }, (_, n) => (text === undefined ? { n } : { n, text }))
const patience = { timeout: 20_000, interval: 20 }

describe('slow receivers', { timeout: 60_000 }, () => {
  const closers: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })
  const begin = (...options: Parameters<typeof scene>): Scene => {
    const made = scene(...options)
    closers.push(() => made.close())
    return made
  }
  const holds = (receiver: FakeReceiver, count: number): Promise<void> =>
    vi.waitFor(() => expect(receiver.held).toBe(count), patience)

  it('get nothing more until their connection is drained, while others go on', async () => {
    const { skep, connect } = begin()
    const slow = await connect({ credits: 100 })
    slow.takes = false
    await skep.enqueueMany(mail, numbers(10))
    await holds(slow, 10)
    // They are his before they are sent, and only then is it seen that he takes no more.
    await vi.waitFor(() => expect(slow.receiver?.blockedSince).not.toBeNull(), patience)
    await skep.enqueueMany(mail, numbers(20))
    const quick = await connect({ credits: 100 })
    await holds(quick, 20)
    expect(slow.jobs).toHaveLength(10)
    quick.receiver?.close('done')
    await holds(slow, 10)
    slow.takes = true
    slow.receiver?.drained()
    await holds(slow, 30)
  })

  it('give back what they have not been sent when its queue is held', async () => {
    const { skep, connect } = begin()
    const slow = await connect({ credits: 100 })
    slow.takes = false
    // Only some of them fit into the first message.
    await skep.enqueueMany(mail, numbers(30, 'x'.repeat(100_000)))
    await vi.waitFor(() => expect(slow.receiver?.unacked).toBe(30), patience)
    await vi.waitFor(() => expect(slow.receiver?.blockedSince).not.toBeNull(), patience)
    const sent = slow.jobs.length
    expect(sent).toBeLessThan(30)

    await skep.queues.pause(mail)

    expect(slow.receiver?.unacked).toBe(sent)
    await vi.waitFor(
      async () =>
        expect((await skep.queues.list([mail]))[0]).toMatchObject({ running: sent, ready: 30 - sent }),
      patience,
    )
    slow.takes = true
    slow.receiver?.drained()
    await slow.ack(slow.jobs)
    expect(slow.jobs).toHaveLength(sent)
    await skep.queues.resume(mail)
    await vi.waitFor(() => expect(slow.jobs).toHaveLength(30), patience)
  })

  it('are ended when their connection takes nothing for too long, and their jobs are free', async () => {
    const { skep, connect } = begin({}, { slowAfter: '1s' })
    const slow = await connect()
    slow.takes = false
    await skep.enqueueMany(mail, numbers(3))
    await vi.waitFor(() => expect(slow.ended).toBe('slow'), patience)
    const other = await connect()
    await holds(other, 3)
    expect(other.jobs.every(({ attempt }) => attempt === 2)).toBe(true)
  })

  it('wait for a promise that their transport gives', async () => {
    const { skep, connect } = begin()
    const drains: (() => void)[] = []
    const receiver = await connect({
      credits: 100,
      send: () => new Promise<void>((resolve) => drains.push(resolve)),
    })
    await skep.enqueueMany(mail, numbers(10))
    await holds(receiver, 10)
    await vi.waitFor(() => expect(drains).toHaveLength(1), patience)
    await skep.enqueueMany(mail, numbers(10))
    const other = await connect({ credits: 100 })
    await holds(other, 10)
    expect(receiver.held).toBe(10)
    expect(drains).toHaveLength(1)
    other.receiver?.close('done')
    drains[0]?.()
    await holds(receiver, 20)
  })

  it('hold at most so many bytes, and one job more', async () => {
    const { skep, connect } = begin()
    const receiver = await connect({ credits: 1_000, maxBytes: 100_000 })
    await skep.enqueueMany(mail, numbers(50, 'x'.repeat(30_000)))
    await holds(receiver, 4)
    const other = await connect({ credits: 1_000 })
    await holds(other, 46)
    expect(receiver.held).toBe(4)
    await receiver.ack(receiver.jobs.slice(0, 2))
    other.receiver?.close('done')
    await holds(receiver, 4)
    expect(receiver.jobs).toHaveLength(6)
  })

  it('a thousand of them stay within the bytes that all may hold', async () => {
    const totalBytes = 8_000_000
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    closers.push(() => skep.close())
    const hub = hubOf(skep, { totalBytes, receivers: 2_000, receiversPerCaller: 2_000 })
    closers.push(() => hub.close({ drain: 0, grace: 0 }))
    // The memory store holds the payloads too, so they are there before anything is measured.
    for (let n = 0; n < 30; n++) await skep.enqueueMany(mail, numbers(100, 'y'.repeat(10_000)))
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 1_000; n++) {
      await hub.connect({
        caller: caller({ name: `slow-${n}` }),
        queues: ['mail'],
        credits: 10,
        protocol: 'http',
        send: () => false,
        stop: () => {},
        end: () => {},
      })
    }
    const bytes = async (): Promise<number> =>
      (await hub.list('default')).reduce((sum, { unackedBytes }) => sum + unackedBytes, 0)
    await vi.waitFor(async () => expect(await bytes()).toBeGreaterThanOrEqual(totalBytes), patience)
    const held = await bytes()
    expect(held).toBeLessThan(totalBytes + 20_000)
    globalThis.gc?.()
    const grown = process.memoryUsage().heapUsed - before
    expect(grown).toBeLessThan(totalBytes * 4)
    expect((await hub.list('default')).length).toBe(1_000)
  })

  it('are refused beyond what one caller, or the server, may have', async () => {
    const { connect } = begin({}, { receivers: 3, receiversPerCaller: 2 })
    await connect()
    await connect()
    await expect(connect()).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    const other = await connect({ caller: caller({ name: 'other' }) })
    await expect(connect({ caller: caller({ name: 'third' }) })).rejects.toMatchObject({
      code: 'TOO_MANY_REQUESTS',
    })
    other.receiver?.close('done')
    await connect({ caller: caller({ name: 'third' }) })
  })

  it('make room for others when they have had nothing for long, the one who waited longest first', async () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    closers.push(() => skep.close())
    const runtime = systemRuntime()
    let later = 0
    const hub = hubOf(skep, { receivers: 2 }, { ...runtime, mono: () => runtime.mono() + later })
    closers.push(() => hub.close({ drain: 0, grace: 0 }))
    const ended: string[] = []
    const connect = (name: string): Promise<Receiver> =>
      hub.connect({
        caller: caller({ name }),
        queues: ['mail'],
        credits: 10,
        protocol: 'http',
        send: () => true,
        stop: () => {},
        end: (reason) => void ended.push(`${name} ${reason}`),
      })
    await connect('first')
    const second = await connect('second')
    await expect(connect('third')).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    later = 61_000
    second.grant(20)
    await connect('third')
    expect(ended).toEqual(['first evicted'])
    await expect(connect('fourth')).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  })

  it('are ended by hand, and when the server stops, after a time to finish', async () => {
    const { skep, hub, connect } = begin()
    await skep.enqueueMany(mail, numbers(2))
    const first = await connect()
    await holds(first, 2)
    expect(await hub.disconnect('elsewhere', first.receiver?.id as string)).toBe(false)
    expect(await hub.disconnect('default', first.receiver?.id as string)).toBe(true)
    expect(first.ended).toBe('closed')
    const second = await connect()
    await holds(second, 2)
    const closing = hub.close({ drain: '20s' })
    await expect(connect()).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await second.ack(second.jobs.slice(0, 1))).toEqual({ saved: 1, results: [] })
    await hub.disconnect('default', second.receiver?.id as string)
    await closing
    const [counts] = await skep.queues.list([mail])
    expect(counts).toMatchObject({ done: 1, ready: 1, running: 0 })
  })
})
