import type { Notifier } from '../../notifier/notifier.ts'
import type { Durability, InsertReply, SettleReply, Store, StoreInTransaction } from '../../store/store.ts'
import { createCaller } from './connection/caller.ts'
import { driverOpener } from './connection/open-driver.ts'
import { Session } from './connection/session.ts'
import { queryOf } from './connection/transaction.ts'
import { checkDurability } from './durability.ts'
import { refusing } from './errors.ts'
import { addMembers, postgresFlows } from './flows/flows.ts'
import { examineTables } from './health.ts'
import { changeJobs } from './jobs/change.ts'
import { busyOr, insertInParts, insertJobs, isTwice, PART } from './jobs/insert.ts'
import { noteJobs, readNotes } from './jobs/job-log.ts'
import { Folding, prune } from './jobs/prune.ts'
import {
  countJobs,
  countSelection,
  expiredLeases,
  extendLeases,
  getJobs,
  listJobs,
  type Places,
} from './jobs/read.ts'
import { Floors, Starts } from './jobs/scan-start.ts'
import { settleAndClaim, settleApart } from './jobs/settle-and-claim.ts'
import { holdJobs, listHolds, releaseHolds } from './lanes/holds.ts'
import { listLanes, listLimits, setLimits } from './lanes/limits.ts'
import { assertSchema, migrate } from './migrate.ts'
import type { StoreChannel } from './notify.ts'
import { channelOf, NOTIFY, type PostgresStoreOptions, resolveOptions } from './options.ts'
import { postgresRecords } from './records.ts'
import { postgresSchedules } from './schedules.ts'
import { attend, depart, workers } from './workers.ts'

/** Makes the notifier that goes with the store; handed in, because adapters do not know each other. */
export type NotifierMaker = (channel: Omit<StoreChannel, 'close'>) => Notifier

/** Jobs in a PostgreSQL database. */
export function createPostgresStore(options: PostgresStoreOptions, makeNotifier: NotifierMaker): Store {
  const { schema, runtime, unsafe, listen, callTimeoutMs, connection, ...resolved } = resolveOptions(options)
  const starts = new Starts(runtime)
  const leaseFloors = new Floors<number>(runtime)
  // Its first look passes over all jobs with a priority that stand in front of the oldest one, those that follow begin there.
  const countFloors = new Floors<Places>(runtime, 10)
  let checked: Promise<Durability> | undefined
  let notifier: Notifier | undefined
  let closing: Promise<void> | undefined

  const driver = driverOpener(connection, { runtime, callTimeoutMs, listen })
  const caller = createCaller({
    driver: driver.open,
    runtime,
    schema,
    timeoutMs: callTimeoutMs,
    isClosed: () => closing !== undefined,
  })
  const { call } = caller
  const folding = new Folding(call, schema, runtime)
  const channel = channelOf(schema)
  const session = listen
    ? new Session({
        driver: driver.open,
        runtime,
        schema,
        channel,
        timeoutMs: Math.min(5_000, callTimeoutMs),
      })
    : null

  async function check(): Promise<Durability> {
    if (resolved.migrate) await migrate(caller, schema)
    else await assertSchema(caller, schema)
    const durability = await checkDurability(call, unsafe)
    await call(
      `select ${schema}.make_days(coalesce($1::bigint, (extract(epoch from now()) * 1000)::bigint))`,
      [null],
    ).catch(() => {}) // On a standby, or for a role that may not: the archive has a place for every day.
    return durability
  }

  return {
    capabilities: {
      transactions: true,
      processes: true,
      liveness: listen,
      jobsPerClaim: 1_000,
      waitsForKeys: true,
    },

    ready() {
      checked ??= check().catch((error: unknown) => {
        checked = undefined
        throw error
      })
      return checked
    },

    migrate: () => migrate(caller, schema),

    examine: () => examineTables(call, schema),

    async insert(request) {
      const insert = (strict: boolean): Promise<InsertReply> =>
        request.jobs.length > PART
          ? insertInParts(caller.transaction, schema, starts, request, { strict })
          : insertJobs(call, schema, starts, request, { strict })
      let reply: InsertReply
      try {
        reply = await insert(true)
      } catch (error) {
        if (isTwice(error)) reply = await insert(false)
        else if (request.lockWaitMs !== undefined) throw busyOr(error)
        else throw error
      }
      folding.wrote()
      return reply
    },

    async claim(request) {
      const { now, ...claim } = request
      const { claimed } = await settleAndClaim(call, schema, starts, {
        settlements: [],
        claim,
        ...(now === undefined ? {} : { now }),
      })
      folding.wrote()
      return claimed as NonNullable<typeof claimed>
    },

    async settle(request) {
      if (request.settlements.length === 0 && !request.claim) return { results: [], claimed: null }
      let reply: SettleReply
      try {
        reply = await settleApart((part) => settleAndClaim(call, schema, starts, part), request)
      } catch (error) {
        throw request.lockWaitMs === undefined ? error : busyOr(error)
      }
      folding.wrote()
      return reply
    },

    extend: (request) => extendLeases(call, schema, request),
    change: (request) => changeJobs(call, schema, starts, request),
    expired: (request) => expiredLeases(call, schema, leaseFloors, request),
    get: (request) => getJobs(call, schema, request),
    list: (request) => listJobs(call, schema, request),

    count: (request) => countSelection(call, schema, request),

    async counts(request) {
      const reply = await countJobs(call, schema, countFloors, request)
      folding.counted()
      return reply
    },

    prune: (request) => prune(call, schema, request),
    hold: (request) => holdJobs(call, schema, request),
    release: (request) => releaseHolds(call, schema, request),
    holds: (request) => listHolds(call, schema, request),
    setLimits: (request) => setLimits(call, schema, request),
    limits: (request) => listLimits(call, schema, request),
    lanes: (request) => listLanes(call, schema, request),

    async attend({ worker, now }) {
      // A worker is never kept from saying that it is here by the lack of a lock.
      const isLocked = session ? await session.hold(worker.id).catch(() => false) : false
      await attend(call, schema, { worker, isLocked, now: now ?? null })
    },

    async depart({ workerId }) {
      await depart(call, schema, workerId)
      await session?.release(workerId).catch(() => {})
    },

    workers: ({ space }) => workers(call, schema, space),
    note: (request) => noteJobs(call, schema, request),
    notes: (request) => readNotes(call, schema, request),

    ...postgresRecords(call, schema),
    ...postgresFlows(call, schema, starts, () => folding.wrote()),
    ...postgresSchedules(call, schema, starts, () => folding.wrote()),

    within(tx: unknown): StoreInTransaction {
      const query = refusing(queryOf(tx))
      return {
        insert: (request) => insertJobs(query, schema, starts, request, { strict: false }),
        async settle(request) {
          if (request.settlements.length === 0 && !request.claim) return { results: [], claimed: null }
          return settleAndClaim(query, schema, starts, request)
        },
        addMembers: (request) => addMembers(query, schema, starts, request),
      }
    },

    notifier() {
      notifier ??= makeNotifier({
        session,
        runtime,
        send: async (payload) => {
          await call(NOTIFY, [channel, payload])
        },
      })
      return notifier
    },

    close() {
      closing ??= (async () => {
        await notifier?.close()
        await folding.stop()
        session?.close()
        await driver.close()
      })()
      return closing
    },
  }
}
