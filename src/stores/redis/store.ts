import type { Notifier } from '../../notifier/notifier.ts'
import type { Durability, Store } from '../../store/store.ts'
import { listOf, numberOf, textOf } from './connection/bytes.ts'
import { Caller } from './connection/caller.ts'
import type { RedisClient } from './connection/client.ts'
import { openClient } from './connection/open-client.ts'
import { Watch } from './data-loss.ts'
import { checkDurability } from './durability.ts'
import { toStoreError } from './errors.ts'
import { flowCalls } from './flows/flows.ts'
import { examineServers } from './health.ts'
import { noteCalls } from './jobs/job-log.ts'
import { jobCalls } from './jobs/jobs.ts'
import { lookingCalls } from './jobs/read.ts'
import { ruleCalls } from './lanes/rules.ts'
import { channelName, channelOf, type StoreChannel } from './notify.ts'
import { type RedisStoreOptions, resolveOptions } from './options.ts'
import { documentCalls } from './records.ts'
import { scheduleCalls } from './schedules.ts'
import { Workers } from './workers.ts'

/** Makes the notifier that goes with the store; handed in, because adapters do not know each other. */
export type NotifierMaker = (channel: StoreChannel) => Notifier

/** Jobs in Redis. Every operation is one run of one script, so it happens as a whole. */
export function createRedisStore(given: RedisStoreOptions, makeNotifier: NotifierMaker): Store {
  const options = resolveOptions(given)
  let opening: Promise<RedisClient> | undefined
  const open = (): Promise<RedisClient> => {
    opening ??= openClient(options.connection, options).then((client) => {
      client.onConnect(() => {
        workers.connected()
        watch.look(true)
      })
      return client
    })
    return opening
  }
  const caller = new Caller(open, options)
  const channel = channelOf(() => caller.client(), options, true)
  let notifier: Notifier | undefined
  const workers = new Workers(caller, options)
  const check = async (): Promise<Durability> =>
    checkDurability(await caller.servers(), options.unsafe, options.wait)
  const watch = new Watch(check, options)
  let durability: Promise<Durability> | undefined
  return {
    capabilities: {
      transactions: false,
      processes: true,
      liveness: options.liveness,
      secondInsertAt: 32,
      tellsInOrder: !options.isCluster,
    },

    ready() {
      durability ??= check()
        .then(async (said) => {
          // Any call tells whether the data is of this version.
          await caller.call('listHolds', [])
          return said
        })
        .catch((error: unknown) => {
          durability = undefined
          throw toStoreError(error)
        })
      return durability
    },

    async migrate() {
      return { applied: listOf(await caller.call('migrate', [])).map(textOf) }
    },

    async examine() {
      return examineServers(await caller.servers())
    },

    ...jobCalls(caller, channelName(options.prefix)),
    ...lookingCalls(caller),
    ...ruleCalls(caller),
    ...noteCalls(caller),
    ...documentCalls(caller),
    ...scheduleCalls(caller),
    ...flowCalls(caller),

    async prune({ limit, now }) {
      return { pruned: numberOf(await caller.call('prune', [String(limit)], now)) }
    },

    async attend(call) {
      watch.look()
      await workers.attend(call)
    },

    depart: (call) => workers.depart(call),
    workers: (call) => workers.list(call),

    notifier() {
      notifier ??= makeNotifier(channel)
      return notifier
    },

    async close() {
      await notifier?.close()
      channel.session.close()
      workers.close()
      const opened = await opening?.catch(() => undefined)
      opened?.close()
    },
  }
}
