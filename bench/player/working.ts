import { setTimeout as sleep } from 'node:timers/promises'
import { now, type Payload } from '../contest.ts'
import type { Line } from '../line.ts'
import { RunLog } from '../measure/log.ts'
import type { Commands } from './commands.ts'
import { receiveByGrpc } from './receive-grpc.ts'
import { receiveByHttp } from './receive-http.ts'
import { Samples } from './samples.ts'
import { Seen } from './seen.ts'

type Working = Pick<Commands, 'work' | 'receive' | 'progress' | 'window' | 'stopWorking'>

/** One stretch of work: from `work` to `stopWorking`. */
interface Stretch {
  readonly seen: Seen
  /** When each handler was called, and how long its job had waited until then. */
  readonly times: Samples
  readonly waits: Samples
  readonly numbers: Samples
  readonly log: RunLog
  readonly cpu: NodeJS.CpuUsage
  ran: number
  firstAt: number
  lastAt: number
  rssMb: number
  stop(): Promise<void>
}

export function working(line: () => Line): Working {
  let current: Stretch | null = null

  const mine = (): Stretch => {
    if (current === null) throw new Error('This player does not work.')
    return current
  }

  const begin = (): { readonly stretch: Stretch; readonly note: (job: Payload) => void } => {
    const stretch: Stretch = {
      seen: new Seen(),
      times: new Samples(),
      waits: new Samples(),
      numbers: new Samples(),
      log: new RunLog(),
      cpu: process.cpuUsage(),
      ran: 0,
      firstAt: 0,
      lastAt: 0,
      rssMb: 0,
      stop: async () => {},
    }
    current = stretch
    const note = ({ n, at }: Payload): void => {
      const time = now()
      if (stretch.ran++ === 0) stretch.firstAt = time
      stretch.lastAt = time
      stretch.seen.add(n)
      stretch.times.add(time)
      stretch.waits.add(time - at)
      stretch.numbers.add(n)
    }
    return { stretch, note }
  }

  return {
    async work({ concurrency, hold = false, takesMs, logged = false }) {
      const { stretch, note } = begin()
      const handle = async (job: Payload): Promise<void> => {
        note(job)
        if (hold) await new Promise(() => {})
        if (takesMs !== undefined) await sleep(takesMs)
        if (!logged) return
        const begin = now()
        await new Promise((resolve) => setImmediate(resolve))
        stretch.log.add({ n: job.n, begin, end: now() })
      }
      stretch.stop = await line().work(concurrency, handle)
    },

    async receive({ url, protocol, credits }) {
      const { stretch, note } = begin()
      const receive = protocol === 'http' ? receiveByHttp : receiveByGrpc
      stretch.stop = await receive(url, credits, note)
    },

    async progress() {
      const stretch = mine()
      stretch.rssMb = Math.max(stretch.rssMb, process.memoryUsage.rss() / 1e6)
      return { ran: stretch.ran }
    },

    // The times are looked at afterwards, because some workers leave no room for messages while there are jobs.
    async window({ from, to, least = 0 }) {
      const { times, waits, numbers } = mine()
      const waited = new Samples()
      times.forEach((time, i) => {
        if (time >= from && time < to && numbers.at(i) >= least) waited.add(waits.at(i))
      })
      return { ran: waited.length, p50: waited.quantile(0.5), p99: waited.quantile(0.99) }
    },

    async stopWorking() {
      const { stop, cpu } = mine()
      await stop()
      const stretch = mine()
      const used = process.cpuUsage(cpu)
      current = null
      return {
        ran: stretch.ran,
        seen: stretch.seen.toText(),
        log: stretch.log.toText(),
        firstAt: stretch.firstAt,
        lastAt: stretch.lastAt,
        cpuMicros: used.user + used.system,
        rssMb: Math.max(stretch.rssMb, process.memoryUsage.rss() / 1e6),
      }
    },
  }
}
