import type { Notifier } from '../../notifier.ts'
import type { Durability, Store, WorkerInfo, WorkerPresence } from '../../store.ts'
import { listOf, numberOf, textOf } from './bytes.ts'
import { Caller } from './caller.ts'
import { channelOf, type StoreChannel } from './channel.ts'
import type { RedisClient } from './client.ts'
import { checkDurability } from './durability.ts'
import { toStoreError } from './faults.ts'
import { flowCalls } from './flows.ts'
import { jobCalls } from './jobs.ts'
import { noteCalls } from './notes.ts'
import { openClient } from './open-client.ts'
import { type RedisStoreOptions, resolveOptions } from './options.ts'
import { lookingCalls } from './reads.ts'
import { ruleCalls } from './rules.ts'
import { scheduleCalls } from './schedules.ts'

/** Makes the notifier that goes with the store; handed in, because adapters do not know each other. */
export type NotifierMaker = (channel: StoreChannel) => Notifier

/** Jobs in Redis. Every operation is one run of one script, so it happens as a whole. */
export function createRedisStore(given: RedisStoreOptions, makeNotifier: NotifierMaker): Store {
  const options = resolveOptions(given)
  let opening: Promise<RedisClient> | undefined
  const open = (): Promise<RedisClient> => {
    opening ??= openClient(options.connection)
    return opening
  }
  const caller = new Caller(open, options)
  const channel = channelOf(open, options)
  let notifier: Notifier | undefined
  let durability: Promise<Durability> | undefined
  return {
    capabilities: { transactions: false, processes: true, liveness: false },

    ready() {
      durability ??= open()
        .then((client) => checkDurability(client, options.unsafe))
        .catch((error: unknown) => {
          durability = undefined
          throw toStoreError(error)
        })
      return durability
    },

    async migrate() {
      return { applied: [] }
    },

    ...jobCalls(caller),
    ...lookingCalls(caller),
    ...ruleCalls(caller),
    ...noteCalls(caller),
    ...scheduleCalls(caller),
    ...flowCalls(caller),

    async prune({ limit, now }) {
      return { pruned: numberOf(await caller.call('prune', [String(limit)], now)) }
    },

    async attend({ worker, now }) {
      await caller.call('attend', [worker.id, JSON.stringify(worker)], now)
    },

    async depart({ workerId }) {
      await caller.call('depart', [workerId])
    },

    async workers({ space }) {
      const all = listOf(await caller.call('workers', [])).map((row): WorkerPresence => {
        const [seenAt, info] = listOf(row)
        return { ...(JSON.parse(textOf(info)) as WorkerInfo), seenAt: numberOf(seenAt), life: 'unsure' }
      })
      const chosen = all.filter((worker) => space === undefined || worker.space === space)
      return { workers: chosen.sort((a, b) => (a.id < b.id ? -1 : 1)) }
    },

    notifier() {
      notifier ??= makeNotifier(channel)
      return notifier
    },

    async close() {
      await notifier?.close()
      channel.session.close()
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}
