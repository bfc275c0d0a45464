import type { Notifier } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type {
  ChangeCall,
  ClaimCall,
  CountCall,
  Durability,
  ExpiredCall,
  ExtendCall,
  GetCall,
  InsertCall,
  ListCall,
  SettleCall,
  Store,
} from '../../store/store.ts'
import { Database } from './connection/database.ts'
import { transaction } from './connection/transaction.ts'
import type { Turn } from './connection/write-batch.ts'
import { sqliteFlows } from './flows/flows.ts'
import { examineFile } from './health.ts'
import { change } from './jobs/change.ts'
import { claim } from './jobs/claim.ts'
import { insert } from './jobs/insert.ts'
import { note, notes } from './jobs/job-log.ts'
import { find } from './jobs/job-row.ts'
import { expired, extend } from './jobs/leases.ts'
import { prune } from './jobs/prune.ts'
import { count, counts, list } from './jobs/read.ts'
import { settle } from './jobs/settle.ts'
import { hold, holds, release } from './lanes/holds.ts'
import { lanes, limits, setLimits } from './lanes/limits.ts'
import { resolveOptions, type SqliteStoreOptions } from './options.ts'
import { sqliteRecords } from './records.ts'
import {
  dueSchedules,
  findSchedule,
  fireSchedules,
  listSchedules,
  pauseSchedules,
  putSchedules,
  removeSchedules,
  resumeSchedules,
} from './schedules.ts'
import { attend, depart, workers } from './workers.ts'

/** Makes the notifier that fits: `folder` is where processes on one file can leave hints, null in memory. */
export type MakeNotifier = (options: {
  readonly runtime: Runtime
  readonly folder: string | null
}) => Notifier

/** A store in one SQLite file, for the processes of one machine. */
export function makeSqliteStore(options: SqliteStoreOptions, makeNotifier: MakeNotifier): Store {
  const resolved = resolveOptions(options)
  const { runtime } = resolved
  const database = new Database(resolved)
  const at = (turn: Turn, call: { readonly now?: number }): number => call.now ?? turn.now
  let notifier: Notifier | undefined

  return {
    capabilities: {
      transactions: true,
      processes: database.path !== null,
      liveness: true,
      jobsPerClaimWithNews: 500,
    },

    async ready(): Promise<Durability> {
      return (await database.open()).durability
    },

    async migrate() {
      return { applied: await database.migrate() }
    },

    examine: () => examineFile(database),

    insert(call: InsertCall) {
      const weight = call.jobs.length + (call.groups?.length ?? 0) + (call.runs?.length ?? 0)
      return database.insert(weight, (turn) => insert(turn, call, at(turn, call)))
    },

    claim(call: ClaimCall) {
      return database.write(call.limit, (turn) => claim(turn, call, at(turn, call)))
    },

    extend(call: ExtendCall) {
      return database.write(call.leases.length, (turn) => extend(turn, call, at(turn, call)))
    },

    settle(call: SettleCall) {
      const weight = call.settlements.length + (call.claim?.limit ?? 0)
      return database.write(weight, (turn) => settle(turn, call, at(turn, call)))
    },

    change(call: ChangeCall) {
      const weight = 'ids' in call.target ? call.target.ids.length : call.target.limit
      return database.write(weight, (turn) => change(turn, call, at(turn, call)))
    },

    async expired(call: ExpiredCall) {
      return database.read((turn) => expired(turn, call, at(turn, call)))
    },

    async get({ space, ids }: GetCall) {
      return database.read((turn) => ({
        jobs: ids.map((id) => find(turn, space, id)?.job ?? null),
      }))
    },

    async list(call: ListCall) {
      return list(database, call)
    },

    async count(call: CountCall) {
      return count(database, call)
    },

    async counts(call) {
      return database.read((turn) => counts(turn, call, at(turn, call)))
    },

    hold(call) {
      return database.write(1, (turn) => hold(turn, call, at(turn, call)))
    },

    release(call) {
      return database.write(1, (turn) => release(turn, call, at(turn, call)))
    },

    async holds(call) {
      return database.read((turn) => holds(turn, call.space, at(turn, call)))
    },

    setLimits(call) {
      return database.write(1, (turn) => setLimits(turn, call, at(turn, call)))
    },

    async limits(call) {
      return database.read((turn) => limits(turn, call))
    },

    async lanes(call) {
      return database.read((turn) => lanes(turn, call, at(turn, call)))
    },

    prune(call) {
      return database.write(call.limit, (turn) => prune(turn, call.limit, at(turn, call)))
    },

    attend(call) {
      return database.write(1, (turn) => {
        attend(turn, call.worker, at(turn, call))
      })
    },

    depart({ workerId }) {
      return database.write(1, (turn) => {
        depart(turn, workerId)
      })
    },

    async workers(call) {
      return database.read((turn) => workers(turn, call))
    },

    note(call) {
      return database.write(call.notes.length, (turn) => note(turn, call.notes, at(turn, call)))
    },

    async notes(call) {
      return database.read((turn) => notes(turn, call))
    },

    ...sqliteRecords(database, at),
    ...sqliteFlows(database, at),

    putSchedules(call) {
      return database.write(call.schedules.length, (turn) => ({
        results: putSchedules(turn, call, at(turn, call)),
      }))
    },

    removeSchedules(call) {
      return database.write(call.ids.length, (turn) => ({ removed: removeSchedules(turn, call) }))
    },

    pauseSchedules(call) {
      return database.write(call.ids.length, (turn) => ({
        paused: pauseSchedules(turn, call, at(turn, call)),
      }))
    },

    resumeSchedules(call) {
      return database.write(call.schedules.length, (turn) => ({
        results: resumeSchedules(turn, call, at(turn, call)),
      }))
    },

    async getSchedules(call) {
      return database.read((turn) => ({
        schedules: call.ids.map((id) => findSchedule(turn, call.space, id)),
        now: at(turn, call),
      }))
    },

    async listSchedules(call) {
      return database.read((turn) => listSchedules(turn, call))
    },

    async dueSchedules(call) {
      return database.read((turn) => dueSchedules(turn, call, at(turn, call)))
    },

    fireSchedules(call) {
      const weight = call.fires.reduce((sum, { jobs }) => sum + jobs.length + 1, 0)
      return database.write(weight, (turn) => fireSchedules(turn, call.fires, at(turn, call)))
    },

    within(tx: unknown) {
      return transaction(database, tx)
    },

    notifier() {
      notifier ??= makeNotifier({ runtime, folder: database.path === null ? null : `${database.path}-hints` })
      return notifier
    },

    async close() {
      await Promise.all([database.close(), notifier?.close()])
    },
  }
}
