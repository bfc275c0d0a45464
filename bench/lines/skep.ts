import type { Notifier, QueueOptions, Store } from 'skep'
import type { Address, Payload, Rules } from '../contest.ts'
import { skepGroups, skepRuns } from '../flows/skep.ts'
import type { OpenLine } from '../line.ts'
import { importBuilt } from '../root.ts'

/** The built package, used as its documentation says. */
export const open: OpenLine = async ({ address, keep, rules, options }) => {
  const built = (await importBuilt('index')) as typeof import('skep')
  const { archive, createSkep, discard, queue, silentLogger } = built
  const notifier = await notifierOf(address)
  const store = await storeOf(address, options)
  const skep = createSkep({ store, logger: silentLogger, ...(notifier && { notifier }) })
  await skep.ready()
  const line = queue<Payload>('bench', { ...limitsOf(rules), onSuccess: keep ? archive('1h') : discard() })

  // As for its rivals there: a call holds up the server until it is done. Elsewhere all go in together.
  const atOnce = address.kind === 'redis' ? 5_000 : Infinity

  return {
    enqueue: (job, delay) => skep.enqueue(line, job, delay === undefined ? {} : { delay }),
    async enqueueMany(jobs) {
      for (let i = 0; i < jobs.length; i += atOnce) await skep.enqueueMany(line, jobs.slice(i, i + atOnce))
    },
    async work(concurrency, handle) {
      const worker = skep.worker([line.handle(async ({ payload }) => handle(payload))], { concurrency })
      await worker.ready
      return () => worker.stop()
    },
    async count() {
      // Flows have more than one queue.
      const counts = await skep.queues.list(rules.flow ? undefined : [line])
      return {
        open: counts.reduce((sum, { ready, running, delayed }) => sum + ready + running + delayed, 0),
        kept: counts.reduce((sum, { done }) => sum + done, 0),
      }
    },
    async serve() {
      const { createServer } = (await importBuilt('server')) as typeof import('skep/server')
      const server = createServer(skep, { logger: silentLogger })
      const { url } = await server.listen({ port: 0 })
      return { url, close: () => server.close() }
    },
    async close() {
      await skep.close()
      await notifier?.close()
    },
    ...(rules.flow && {
      flows: (options['runs'] === true ? skepRuns : skepGroups)(built, skep, rules.flow),
    }),
  }
}

function limitsOf({ lanes, strict, laneAtOnce, laneRate, rate }: Rules): QueueOptions<Payload> {
  return {
    ...(lanes !== undefined && {
      lane: ({ payload }) => payload.lane,
      lanes: {
        ...(strict && { order: 'strict' }),
        ...(laneAtOnce !== undefined && { concurrency: laneAtOnce }),
        ...(laneRate && { rate: { limit: laneRate.limit, per: laneRate.perMs } }),
      },
    }),
    ...(rate !== undefined && { rate: { limit: rate, per: '1s' } }),
  }
}

async function notifierOf(address: Address): Promise<Notifier | null> {
  if (address.kind !== 'postgres' || !address.nats) return null
  const { natsNotifier } = (await importBuilt('nats')) as typeof import('skep/nats')
  return natsNotifier({ servers: address.nats.servers, prefix: address.nats.prefix })
}

async function storeOf(address: Address, options: Readonly<Record<string, unknown>>): Promise<Store> {
  if (address.kind === 'postgres') {
    const { postgresStore } = (await importBuilt('postgres')) as typeof import('skep/postgres')
    return postgresStore({ url: address.url, migrate: true })
  }
  if (address.kind === 'sqlite') {
    const { sqliteStore } = (await importBuilt('sqlite')) as typeof import('skep/sqlite')
    const synchronous = options['synchronous'] === 'normal' ? 'normal' : 'full'
    return sqliteStore({ file: address.file, synchronous })
  }
  const { redisStore } = (await importBuilt('redis')) as typeof import('skep/redis')
  return redisStore({ url: address.url, unsafe: { lateFsync: options['appendfsync'] !== 'always' } })
}
