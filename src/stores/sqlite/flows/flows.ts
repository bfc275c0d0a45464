import type { FlowStore } from '../../../store/flows.ts'
import type { Database } from '../connection/database.ts'
import type { Turn } from '../connection/write-batch.ts'
import { addMembers, auditGroups, fire, getGroup, tell } from './groups.ts'
import { openMembers, outcomes } from './members.ts'
import { countRuns, getRun, listRuns, moveRun } from './runs.ts'

/** Groups and runs, as far as they are not a part of other calls. */
export function sqliteFlows(
  database: Database,
  at: (turn: Turn, call: { readonly now?: number }) => number,
): FlowStore {
  return {
    moveRuns(call) {
      const weight = call.moves.reduce((sum, { jobs, runs }) => sum + jobs.length + runs.length + 1, 0)
      return database.write(weight, (turn) => {
        const now = at(turn, call)
        const results = call.moves.map((move) => moveRun(turn, move, now))
        return { results, enqueued: fire(turn, now) }
      })
    },

    async getRuns({ space, ids }) {
      return database.read((turn) => ({ runs: ids.map((id) => getRun(turn, space, id)) }))
    },

    async listRuns(call) {
      return database.read((turn) => listRuns(turn, call))
    },

    async countRuns(call) {
      return database.read((turn) => countRuns(turn, call))
    },

    async getGroups({ space, ids }) {
      return database.read((turn) => ({ groups: ids.map((id) => getGroup(turn, space, id)) }))
    },

    async outcomes(call) {
      return database.read((turn) => ({ outcomes: outcomes(turn, call) }))
    },

    async openMembers(call) {
      return database.read((turn) => ({ members: openMembers(turn, call) }))
    },

    tell(call) {
      return database.write(1, (turn) => tell(turn, call, at(turn, call)))
    },

    addMembers(call) {
      return database.write(call.jobs.length + 1, (turn) => addMembers(turn, call, at(turn, call)))
    },

    auditGroups(call) {
      return database.write(call.limit, (turn) => auditGroups(turn, call, at(turn, call)))
    },
  }
}
