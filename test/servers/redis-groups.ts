// Several Redis servers that belong together: a master with replicas and sentinels, and a cluster.

import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, redisProcess, redisProgram, startRedis } from './redis.ts'
import { freePort, serverFolder, serverIdentity } from './server.ts'

/** What the sentinels call the master. */
export const MASTER_NAME = 'skep'

/** On a busy machine a server that lives can be silent for a second; given up too soon, masters would change at random. */
export const DOWN_AFTER_MS = 3_000

/** A replica is promoted when its master has been silent for this long, which a busy machine alone can make it. */
export const CLUSTER_NODE_TIMEOUT_MS = 4_000

export interface SentinelGroup {
  /** The first is the master at the start. */
  readonly servers: readonly [RedisServer, RedisServer, RedisServer]
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  /** Which of the servers the sentinels call the master now. */
  master(): Promise<RedisServer>
  stop(): Promise<void>
}

/** One master, two replicas and three sentinels that give it up after `DOWN_AFTER_MS`; or why not. */
export async function startSentinels(): Promise<{
  readonly group?: SentinelGroup
  readonly reason?: string
}> {
  const { command, reason } = redisProgram()
  if (command === undefined) return { reason }
  // A replica that is promoted must not wait for others before it goes on.
  const settings = { 'repl-diskless-sync-delay': '0', 'repl-timeout': '5' }
  const master = await started({ ...settings })
  const of = { ...settings, replicaof: `127.0.0.1 ${master.port}` }
  const [first, second] = await Promise.all([started(of), started(of)])
  for (const replica of [first, second]) {
    await until(async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'))
  }
  const sentinels = await Promise.all([0, 1, 2].map(() => startSentinel(command, master.port)))
  for (const sentinel of sentinels) {
    await until(async () => {
      const said = await sentinel.cli('SENTINEL', 'CKQUORUM', MASTER_NAME).catch(String)
      const known = await sentinel.cli('INFO', 'sentinel')
      return said.startsWith('OK 3') && known.includes('slaves=2,sentinels=3')
    })
  }
  const servers = [master, first, second] as const
  return {
    group: {
      servers,
      sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      async master() {
        const said = await sentinels[0]?.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)
        return servers.find(({ port }) => said?.endsWith(String(port))) as RedisServer
      },
      async stop() {
        for (const server of servers) server.resume()
        await Promise.all([...sentinels, ...servers].map((server) => server.stop()))
      },
    },
  }
}

async function startSentinel(command: string, masterPort: number): Promise<RedisServer> {
  const identity = serverIdentity()
  const folder = serverFolder('sentinel', identity)
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const { uid, gid } = identity
  // A sentinel writes what it learns into its own settings.
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  return redisProcess({ command, args: [file, '--sentinel'], identity, folder, port })
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  /** The node that has the slot of a key now. */
  ownerOf(key: string): Promise<RedisServer>
  /** Begins to move the slot of a key to another node. Between the steps traffic goes on. */
  startMove(key: string): Promise<SlotMove>
  stop(): Promise<void>
}

export interface SlotMove {
  /** Moves up to so many keys. Answers how many there were. */
  some(count: number): Promise<number>
  /** Moves what is left, and says everywhere whose the slot is. */
  finish(): Promise<void>
}

/** Three masters, each with a replica if wanted, with what else is to be set; or why there are none. */
export async function startCluster({
  replicas = false,
  settings = {},
}: {
  readonly replicas?: boolean
  readonly settings?: Readonly<Record<string, string>>
} = {}): Promise<{
  readonly cluster?: RedisCluster
  readonly reason?: string
}> {
  const { command, reason } = redisProgram()
  if (command === undefined) return { reason }
  const nodes = await Promise.all(
    Array.from({ length: replicas ? 6 : 3 }, async () =>
      started({
        'cluster-enabled': 'yes',
        'cluster-port': String(await freePort()),
        'cluster-node-timeout': String(replicas ? CLUSTER_NODE_TIMEOUT_MS : 2_000),
        ...settings,
        'cluster-config-file': 'nodes.conf',
        'repl-diskless-sync-delay': '0',
      }),
    ),
  )
  const masters = nodes.slice(0, 3)
  const [first] = nodes as [RedisServer]
  const third = Math.ceil(16_384 / 3)
  await Promise.all(
    masters.map((node, index) => {
      const last = Math.min(16_383, (index + 1) * third - 1)
      return node.cli('CLUSTER', 'ADDSLOTSRANGE', String(index * third), String(last))
    }),
  )
  const buses = await Promise.all(nodes.map((node) => node.cli('CONFIG', 'GET', 'cluster-port')))
  for (const [index, { port }] of nodes.entries()) {
    const bus = buses[index]?.split('\n')[1] as string
    await first.cli('CLUSTER', 'MEET', '127.0.0.1', String(port), bus)
  }
  for (const node of nodes) {
    await until(async () => {
      const info = await node.cli('CLUSTER', 'INFO')
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`)
    })
  }

  for (const [index, replica] of nodes.slice(3).entries()) {
    const master = await (masters[index] as RedisServer).cli('CLUSTER', 'MYID')
    // It does not know of every node at once.
    await until(async () => (await replica.cli('CLUSTER', 'REPLICATE', master).catch(String)) === 'OK')
    await until(async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'))
  }

  const ownerOf = async (key: string): Promise<RedisServer> => {
    for (const node of nodes) {
      const said = await node.cli('EXISTS', key).catch(() => null)
      if (said === '0' || said === '1') return node
    }
    throw new Error('Nobody has the slot.')
  }
  return {
    cluster: {
      nodes,
      ownerOf,
      async startMove(key) {
        const slot = await first.cli('CLUSTER', 'KEYSLOT', key)
        const from = await ownerOf(key)
        const to = nodes.find((node) => node !== from) as RedisServer
        const [fromId, toId] = await Promise.all([from.cli('CLUSTER', 'MYID'), to.cli('CLUSTER', 'MYID')])
        await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
        await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
        const some = async (count: number): Promise<number> => {
          const said = await from.cli('CLUSTER', 'GETKEYSINSLOT', slot, String(count))
          const keys = said.split('\n').filter((name) => name !== '')
          if (keys.length === 0) return 0
          await from.cli('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys)
          return keys.length
        }
        return {
          some,
          async finish() {
            while ((await some(100)) > 0);
            await to.cli('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
            for (const node of nodes) await node.cli('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
          },
        }
      },
      async stop() {
        await Promise.all(nodes.map((node) => node.stop()))
      },
    },
  }
}

async function started(settings: Readonly<Record<string, string>>, tries = 3): Promise<RedisServer> {
  try {
    const { redis, reason } = await startRedis({
      appendfsync: 'always',
      settings: { maxmemory: '200mb', ...settings },
    })
    if (!redis) throw new Error(reason)
    return redis
  } catch (error) {
    // A free port may be taken before the server binds it, by any connection of this machine.
    if (tries === 1 || !String(error).includes('Address already in use')) throw error
    return started(settings, tries - 1)
  }
}

/** Servers that find each other tell nobody when they have. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('The servers did not find each other.')
    await sleep(50)
  }
}
