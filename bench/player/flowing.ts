import { now } from '../contest.ts'
import { isLast, wrongResults } from '../flows/shape.ts'
import type { FlowLine, Line } from '../line.ts'
import type { Commands } from './commands.ts'
import { Seen } from './seen.ts'

type Flowing = Pick<Commands, 'makeFlows' | 'workFlows' | 'flowProgress' | 'stopFlows'>

/** One stretch of work: from `workFlows` to `stopFlows`. */
interface Stretch {
  readonly seen: Seen
  readonly cpu: NodeJS.CpuUsage
  ran: number
  ended: number
  lastAt: number
  wrong: string | null
  stop(): Promise<void>
}

export function flowing(line: () => Line): Flowing {
  let current: Stretch | null = null

  const flows = (): FlowLine => {
    const { flows } = line()
    if (flows === undefined) throw new Error('This line was opened without flows.')
    return flows
  }
  const mine = (): Stretch => {
    if (current === null) throw new Error('This player does not work.')
    return current
  }

  return {
    async makeFlows({ count, ms }) {
      const own = flows()
      const beganAt = now()
      let next = 0
      let made = 0
      const caller = async (): Promise<void> => {
        while (next < count && now() - beganAt < ms) {
          const some = Array.from({ length: Math.min(own.perCall, count - next) }, (_, i) => next + i)
          next += some.length
          await own.make(some)
          made += some.length
        }
      }
      await Promise.all(Array.from({ length: own.callers }, caller))
      return { made, beganAt, endedAt: now() }
    },

    async workFlows({ shape, concurrency }) {
      const stretch: Stretch = {
        seen: new Seen(),
        cpu: process.cpuUsage(),
        ran: 0,
        ended: 0,
        lastAt: 0,
        wrong: null,
        stop: async () => {},
      }
      current = stretch
      stretch.stop = await flows().work(concurrency, ({ n }, results) => {
        stretch.ran++
        stretch.seen.add(n)
        stretch.wrong ??= wrongResults(shape, n, results)
        stretch.lastAt = now()
        if (isLast(shape, n)) stretch.ended++
        return n
      })
    },

    async flowProgress() {
      const { ran, ended } = mine()
      return { ran, ended }
    },

    async stopFlows() {
      const stretch = mine()
      await stretch.stop()
      current = null
      const { ran, ended, lastAt, wrong } = stretch
      const used = process.cpuUsage(stretch.cpu)
      return { ran, ended, lastAt, wrong, distinct: stretch.seen.count(), cpuMicros: used.user + used.system }
    },
  }
}
