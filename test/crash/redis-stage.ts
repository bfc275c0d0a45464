import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { readRedisAudit, redisFinal } from '../proof/audit/redis.ts'
import { auditContents } from '../redis/audit.ts'
import { readContents } from '../redis/contents.ts'
import { FaultProxy, redisReply } from './fault-proxy.ts'
import { type MortalRedis, startMortalRedis } from './mortal-redis.ts'
import { networkFaults } from './network-faults.ts'
import { openStore } from './program.ts'
import type { Stage, StageFault } from './stage.ts'

const REPLIES = ['settle', 'insert', 'claim'].map(redisReply)

/** A store on a server that syncs before it answers. */
export async function redisStage(given?: MortalRedis): Promise<Stage> {
  const server = given ?? (await startMortalRedis())
  const prefix = `crash-${randomBytes(6).toString('hex')}`
  const address = { redis: server.url, prefix, isTimed: true }
  const proxies = new Map<string, FaultProxy>()
  const proxyOf = (slot: string): FaultProxy => proxies.get(slot) as FaultProxy
  for (const slot of ['w1', 'w2', 'w3', 'p1']) {
    proxies.set(slot, await FaultProxy.start({ host: '127.0.0.1', port: server.port }))
  }

  return {
    store: 'redis',
    address: (slot) => ({ ...address, redis: `redis://127.0.0.1:${proxyOf(slot).port}` }),
    open: () => openStore(address),
    faults: [...networkFaults(proxyOf, REPLIES), ...serverFaults(server)],

    async outage(nth, ms) {
      if (nth % 2 === 0) {
        await server.stop('crash')
        await sleep(ms)
        return server.start()
      }
      for (const proxy of proxies.values()) proxy.set({ blackHole: 'both' })
      await sleep(ms)
      for (const proxy of proxies.values()) proxy.heal()
    },

    async heal() {
      for (const proxy of proxies.values()) proxy.heal()
    },

    read: () =>
      withRedis(server.url, async (client) => {
        const contents = await readContents(client, prefix)
        const faults = auditContents(contents).map(({ rule, what }) => `I-24 ${rule}: ${what}`)
        return { audit: readRedisAudit(server.log(), prefix), final: redisFinal(contents), faults }
      }),

    async remove() {
      for (const proxy of proxies.values()) await proxy.close()
      if (!given) await server.remove()
    },
  }
}

/** What happens to the server itself. */
function serverFaults(server: MortalRedis): StageFault[] {
  const restart = (how: 'fast' | 'crash'): StageFault => ({
    name: how === 'fast' ? 'server restarted' : 'server killed',
    weight: how === 'fast' ? 1 : 2,
    async run(random, _slots, lengthMs) {
      await server.stop(how)
      await sleep(random.int(0, lengthMs))
      await server.start()
    },
  })
  const command = (name: string, ...words: [string, ...string[]]): StageFault => ({
    name,
    weight: 1,
    run: () => withRedis(server.url, async (client) => void (await client.call(...words))),
  })
  return [
    restart('fast'),
    restart('crash'),
    { name: 'server frozen', weight: 1, run: (random, _slots, ms) => server.freeze(random.int(50, ms)) },
    command('clients killed', 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    command('scripts flushed', 'SCRIPT', 'FLUSH'),
  ]
}

export async function withRedis<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url)
  client.on('error', () => {})
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}
