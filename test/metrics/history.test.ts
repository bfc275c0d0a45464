import { describe, expect, it } from 'vitest'
import { Meter, Tally } from '../../src/metrics/counters.ts'
import { History } from '../../src/metrics/history.ts'
import { DETAILED_QUEUES, HOUR_MS, METRIC_KIND, MINUTE_MS, Page } from '../../src/metrics/minute-records.ts'
import { RECORDS_READ, readRates, readSeries } from '../../src/metrics/series.ts'
import { silentLogger } from '../../src/runtime/logger.ts'
import type { PutRecordsCall, RecordStore } from '../../src/store/records.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { type VirtualRuntime, virtualRuntime } from '../../src/testing/virtual-runtime.ts'

interface Place {
  readonly runtime: VirtualRuntime
  readonly store: RecordStore
  readonly puts: PutRecordsCall[]
  /** What writing does from now on. */
  break(error: Error | null): void
  process(): { readonly meter: Meter; readonly history: History }
}

function open(): Place {
  // At the beginning of an hour.
  const runtime = virtualRuntime({ seed: 1, start: 500_000 * HOUR_MS })
  const inner = memoryStore({ runtime })
  const puts: PutRecordsCall[] = []
  let broken: Error | null = null
  const store: RecordStore = {
    putRecords: async (call) => {
      puts.push(call)
      if (broken) throw broken
      return inner.putRecords(call)
    },
    getRecords: (call) => inner.getRecords(call),
    listRecords: (call) => inner.listRecords(call),
    removeRecords: (call) => inner.removeRecords(call),
  }
  return {
    runtime,
    store,
    puts,
    break: (error) => {
      broken = error
    },
    process: () => {
      const meter = new Meter()
      return { meter, history: new History({ store, runtime, logger: silentLogger, space: 's', meter }) }
    },
  }
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

describe('the history of a process', () => {
  it('is written by itself, a few seconds after something happened', async () => {
    const { runtime, store, process, puts } = open()
    const { meter } = process()
    await runtime.advance(60_000)
    expect(puts).toEqual([])

    meter.of('mail').enqueued(2)
    await runtime.advance(5_000)

    const { buckets } = await readSeries(store, 's', { range: '15m', now: runtime.now() })
    expect(sum(buckets.map((bucket) => bucket?.enqueued ?? 0))).toBe(2)
  })

  it('is not written again while nothing happens', async () => {
    const { runtime, process, puts } = open()
    const { meter } = process()
    meter.of('mail').enqueued(2)
    await runtime.advance(120_000)
    const before = puts.length

    await runtime.advance(10 * HOUR_MS)

    expect(puts.length).toBe(before)
    expect(runtime.timers).toBe(0)
  })

  it('of several processes is one, with the time at which each thing happened', async () => {
    const { runtime, store, process } = open()
    const [one, other] = [process(), process()]
    for (let minute = 0; minute < 10; minute++) {
      for (const { meter } of [one, other]) {
        meter.of('mail').enqueued(1)
        meter.of('mail').started(40)
        meter.of('mail').done(100)
        meter.of('sms').enqueued(5)
      }
      await runtime.advance(MINUTE_MS)
    }

    const now = runtime.now()
    const mail = await readSeries(store, 's', { queue: 'mail', range: '1h', now })
    const all = await readSeries(store, 's', { range: '1h', now })

    expect(mail.buckets.map((bucket) => bucket?.done ?? 0).slice(-11)).toEqual([
      2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0,
    ])
    expect(mail.from + 59 * mail.stepMs).toBe(now)
    expect(mail.isWhole).toBe(true)
    expect(all.buckets.at(-2)).toMatchObject({ enqueued: 12, done: 2 })
    const p50 = mail.buckets.at(-2)?.run.quantile(0.5) as number
    expect(p50).toBeGreaterThan(80)
    expect(p50).toBeLessThan(120)
  })

  it('of hours and days is told by the hours, for a queue and for all', async () => {
    const { runtime, store, process } = open()
    const { meter } = process()
    for (let hour = 0; hour < 30; hour++) {
      meter.of('mail').done(10)
      meter.of('sms').done(10)
      await runtime.advance(HOUR_MS)
    }

    const now = runtime.now()
    const count = async (range: '6h' | '24h' | '7d', queue?: string): Promise<number> => {
      const { buckets } = await readSeries(store, 's', { range, now, ...(queue ? { queue } : {}) })
      return sum(buckets.map((bucket) => bucket?.done ?? 0))
    }

    expect([await count('6h'), await count('24h'), await count('7d')]).toEqual([10, 46, 60])
    expect([await count('6h', 'mail'), await count('24h', 'mail'), await count('7d', 'mail')]).toEqual([
      5, 23, 30,
    ])
    expect(await count('7d', 'nothing')).toBe(0)
  })

  it('goes on after the store was away, with what happened meanwhile', async () => {
    const { runtime, store, process, ...place } = open()
    const { meter } = process()
    place.break(new Error('away'))
    meter.of('mail').done(1)
    await runtime.advance(30_000)
    meter.of('mail').done(1)
    place.break(null)
    await runtime.advance(10_000)

    const { buckets } = await readSeries(store, 's', { range: '15m', now: runtime.now() })
    expect(sum(buckets.map((bucket) => bucket?.done ?? 0))).toBe(2)
  })

  it('holds a bounded number of pages while the store is away', async () => {
    const { runtime, process, puts, ...place } = open()
    const { meter } = process()
    place.break(new Error('away'))
    for (let minute = 0; minute < 200; minute++) {
      meter.of('mail').done(1)
      await runtime.advance(MINUTE_MS)
    }
    place.break(null)
    puts.length = 0
    await runtime.advance(5_000)

    expect(sum(puts.map(({ records }) => records.length))).toBeLessThanOrEqual(40)
  })

  it('is written to the end when the process stops', async () => {
    const { runtime, store, process } = open()
    const { meter, history } = process()
    meter.of('mail').done(1)

    await history.stop()

    const { buckets } = await readSeries(store, 's', { range: '7d', now: runtime.now() })
    expect(buckets.at(-1)?.done).toBe(1)
    expect(runtime.timers).toBe(0)
  })

  it('goes when its time is over', async () => {
    const { runtime, store, process } = open()
    const { meter } = process()
    meter.of('mail').done(1)
    await runtime.advance(9 * 24 * HOUR_MS)

    const { records } = await store.listRecords({ scope: 's', kind: METRIC_KIND, limit: 10 })
    expect(records).toEqual([])
  })
})

describe('a page of a thousand queues', () => {
  it('is small: of those with little to tell only the counts are kept', () => {
    const page = new Page('minute', 0)
    const tally = new Tally()
    for (let i = 0; i < 50; i++) {
      tally.run.add(2 ** (i / 4))
      tally.wait.add(2 ** (i / 4))
      tally.done += 1
    }
    const little = new Tally()
    little.merge(tally)
    little.done = 1
    for (let slot = 0; slot < 6; slot++)
      for (let i = 0; i < 1_000; i++)
        page.add(slot * 10_000, `queue-${i}`, i < DETAILED_QUEUES ? tally : little)

    const [record] = page.records('p')
    const body = JSON.parse(record?.body as string)

    expect(record?.body.length).toBeLessThan(500_000)
    expect(Object.keys(body.queues['queue-0'])).toHaveLength(6)
    expect(body.queues['queue-999']).toEqual({ 0: [0, 6, 0, 0, 0, 0, 0, 0] })
    expect(body.all[5][1]).toBe(DETAILED_QUEUES * 50 + 900)
  })
})

describe('a read', () => {
  it('is bounded, takes the newest and says that it is not whole', async () => {
    let asked = 0
    const body = JSON.stringify({ all: { 0: [1, 1, 0, 0, 0, 0, 0, 0] } })
    const store: Pick<RecordStore, 'listRecords'> = {
      // More processes than anybody can read, all of the newest minute.
      listRecords: async ({ limit, backwards }) => {
        expect(backwards).toBe(true)
        asked += limit
        const records = Array.from({ length: limit }, (_, i) => ({
          id: `m/${String(60_000 * 100).padStart(14, '0')}/${9_999_999 - asked - i}`,
          body,
          revision: '1',
          expiresAt: null,
          writtenAt: 0,
        }))
        return { records, more: true }
      },
    }

    const { isWhole, buckets } = await readSeries(store, 's', { range: '1h', now: 60_000 * 100 })

    expect(isWhole).toBe(false)
    expect(asked).toBe(RECORDS_READ)
    expect(buckets.at(-1)?.done).toBe(RECORDS_READ)
  })

  it('passes over records that cannot be read', async () => {
    const { runtime, store, process } = open()
    const { meter, history } = process()
    meter.of('mail').done(1)
    await history.flush()
    const id = `m/${String(runtime.now()).padStart(14, '0')}/x`
    for (const body of ['nonsense', 'null', '[]', '{"all":7,"queues":{"mail":[1]}}', '{"all":{"0":"x"}}']) {
      const record = { id, body, revision: '1', expiresAt: null }
      await store.putRecords({ scope: 's', kind: METRIC_KIND, records: [record] })

      const { buckets } = await readSeries(store, 's', { range: '15m', now: runtime.now() })
      expect(buckets.at(-1)?.done).toBe(1)
      expect(await readRates(store, 's', runtime.now() + 10_000)).toHaveLength(1)
    }
  })
})

describe('rates', () => {
  it('are of the last minute, with a line of the last fifteen', async () => {
    const { runtime, store, process } = open()
    const { meter } = process()
    for (let second = 0; second < 300; second++) {
      meter.of('mail').enqueued(2)
      meter.of('mail').done(1)
      if (second % 2 === 0) meter.of('mail').failed('delayed', false, 1)
      await runtime.advance(1_000)
    }
    await runtime.advance(5_000)

    const [mail, ...rest] = await readRates(store, 's', runtime.now())

    expect(rest).toEqual([])
    expect(mail).toMatchObject({ queue: 'mail', enqueued: 2, done: 1, failed: 0.5 })
    expect(mail?.spark).toHaveLength(15)
    expect(mail?.spark.slice(-4)).toEqual([90, 90, 90, 90])
    expect(mail?.spark.slice(0, 9)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0])
  })

  it('leave out what happened too long ago', async () => {
    const { runtime, store, process } = open()
    const { meter } = process()
    meter.of('mail').done(1)
    await runtime.advance(20 * MINUTE_MS)

    expect(await readRates(store, 's', runtime.now())).toEqual([])
  })
})
