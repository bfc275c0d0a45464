import { setTimeout as sleep } from 'node:timers/promises'
import { now, payload } from '../contest.ts'
import type { Line } from '../line.ts'
import type { Commands, Enqueued, LaneRule } from './commands.ts'

type Enqueueing = Pick<Commands, 'enqueueOneByOne' | 'enqueueWithCallers' | 'enqueueMany' | 'produce'>

/** Calls under way at most. One who cannot keep up with a rate would otherwise pile up calls without end. */
const MOST_UNDER_WAY = 1_000

export function enqueueing(line: () => Line): Enqueueing {
  return {
    async enqueueOneByOne({ from, ms }) {
      const own = line()
      const begin = now()
      let n = from
      while (now() - begin < ms) await own.enqueue(payload(n++))
      return since(begin, n - from)
    },

    async enqueueWithCallers({ from, callers, ms, together }) {
      const own = line()
      let n = from
      const begin = now()
      const caller = async (): Promise<void> => {
        while (now() - begin < ms) await own.enqueue(payload(n++))
      }
      const all = async (): Promise<void> => {
        while (now() - begin < ms) {
          await own.enqueueMany(jobs(n, callers))
          n += callers
        }
      }
      await (together ? all() : Promise.all(Array.from({ length: callers }, caller)))
      return since(begin, n - from)
    },

    async enqueueMany({ from, count, chunk, lanes }) {
      const own = line()
      let ms = 0
      for (let done = 0; done < count; done += chunk) {
        const some = jobs(from + done, Math.min(chunk, count - done), lanes)
        const begin = now()
        await own.enqueueMany(some)
        ms += now() - begin
      }
      return { count, ms }
    },

    async produce({ from, rate, seconds, stamp, lanes, delayMs }) {
      const own = line()
      const most = Math.round(rate * seconds)
      const underWay = new Set<Promise<unknown>>()
      let failure: unknown
      let sent = 0
      const begin = now()
      while (sent < most && now() - begin < seconds * 1_000 && failure === undefined) {
        const due = Math.min(most, Math.floor(((now() - begin) / 1_000) * rate) + 1)
        while (sent < due && underWay.size < MOST_UNDER_WAY) {
          const at = stamp === 'due' ? begin + (sent / rate) * 1_000 : now()
          const n = from + sent++
          const job = payload(n, at + (delayMs ?? 0), laneOf(n, lanes))
          const call: Promise<unknown> = own.enqueue(job, delayMs).then(
            () => underWay.delete(call),
            (error) => {
              failure ??= error
            },
          )
          underWay.add(call)
        }
        await sleep(1)
      }
      const ended = since(begin, sent)
      await Promise.all(underWay)
      if (failure !== undefined)
        throw new Error(`An enqueue failed: ${messageOf(failure)}`, { cause: failure })
      return ended
    },
  }
}

function jobs(from: number, count: number, lanes?: LaneRule): ReturnType<typeof payload>[] {
  return Array.from({ length: count }, (_, i) => payload(from + i, 0, laneOf(from + i, lanes)))
}

function laneOf(n: number, lanes: LaneRule | undefined): string | undefined {
  if (lanes === undefined) return undefined
  return lanes === 'own' ? `own-${n}` : `lane-${n % lanes}`
}

function since(begin: number, count: number): Enqueued {
  return { count, ms: now() - begin }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
