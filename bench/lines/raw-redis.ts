/**
 * The limit on Redis: the same work done by hand, with one list and one hash of payloads. A script finishes a batch and
 * takes the next; two calls are under way, so that the server works while the jobs of the other run. See raw-postgres.ts.
 */
import type { Redis } from 'ioredis'
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'
import { requireFromRoot } from '../root.ts'

const ENQUEUE = `
  local ids = {}
  local last = redis.call('INCRBY', KEYS[3], #ARGV)
  local fields = {}
  for i = 1, #ARGV do
    local id = last - #ARGV + i
    ids[i] = id
    fields[2 * i - 1] = id
    fields[2 * i] = ARGV[i]
  end
  redis.call('RPUSH', KEYS[1], unpack(ids))
  redis.call('HSET', KEYS[2], unpack(fields))`

/** ARGV: until when the lease lasts, and the ids that are finished. */
const FINISH_AND_TAKE = `
  local done = {}
  for i = 2, #ARGV do done[i - 1] = ARGV[i] end
  if #done > 0 then
    redis.call('ZREM', KEYS[4], unpack(done))
    redis.call('HDEL', KEYS[2], unpack(done))
  end
  local ids = redis.call('LPOP', KEYS[1], 500)
  if not ids then return { {}, {} } end
  local leases = {}
  for i = 1, #ids do
    leases[2 * i - 1] = ARGV[1]
    leases[2 * i] = ids[i]
  end
  redis.call('ZADD', KEYS[4], unpack(leases))
  return { ids, redis.call('HMGET', KEYS[2], unpack(ids)) }`

const KEYS = ['raw:list', 'raw:payloads', 'raw:last', 'raw:leases']
const BULK = 500

export const open: OpenLine = async ({ address }) => {
  if (address.kind !== 'redis') throw new Error('This line is for Redis.')
  const { Redis } = requireFromRoot('ioredis') as typeof import('ioredis')
  const client: Redis = new Redis(address.url)
  const scripts = new Map<string, string>()
  for (const script of [ENQUEUE, FINISH_AND_TAKE]) {
    scripts.set(script, (await client.script('LOAD', script)) as string)
  }
  const run = (script: string, args: readonly (string | number)[]): Promise<unknown> =>
    client.evalsha(scripts.get(script) as string, KEYS.length, ...KEYS, ...args)

  return {
    enqueue: (job) => run(ENQUEUE, [JSON.stringify(job)]),

    async enqueueMany(jobs) {
      let next = 0
      const send = async (): Promise<void> => {
        while (next < jobs.length) {
          const begin = next
          next += BULK
          await run(
            ENQUEUE,
            jobs.slice(begin, begin + BULK).map((job) => JSON.stringify(job)),
          )
        }
      }
      await Promise.all([send(), send()])
    },

    async work(_concurrency, handle) {
      let stopping = false
      const loop = async (): Promise<void> => {
        let taken: readonly string[] = []
        while (!stopping) {
          const [ids, payloads] = (await run(FINISH_AND_TAKE, [Date.now() + 30_000, ...taken])) as string[][]
          taken = ids as string[]
          for (const text of payloads as string[]) await handle(JSON.parse(text) as Payload)
          if (taken.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        }
        if (taken.length === 0) return
        await client
          .multi()
          .hdel('raw:payloads', ...taken)
          .zrem('raw:leases', ...taken)
          .exec()
      }
      const ended = Promise.all([loop(), loop()])
      return async () => {
        stopping = true
        await ended
      }
    },

    count: async () => ({ open: await client.hlen('raw:payloads'), kept: 0 }),

    async close() {
      client.disconnect()
    },
  }
}
