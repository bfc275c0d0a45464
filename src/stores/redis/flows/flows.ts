import { GROUP_EVENTS, type Group, type NewGroup, type Outcome } from '../../../core/flows/groups.ts'
import { RUN_STATUSES, type Run } from '../../../core/flows/runs.ts'
import { type FinalState, JOB_STATES } from '../../../core/jobs/job.ts'
import type { AddMembersReply, FlowStore, MoveResult, RunCount } from '../../../store/flows.ts'
import {
  listOf,
  numberOf,
  numberOrNull,
  type Reply,
  textOf,
  textOrNull,
  toUuid,
} from '../connection/bytes.ts'
import type { Caller } from '../connection/caller.ts'
import { newJobOf, sentJob } from '../jobs/job-codec.ts'
import { enqueuedIn } from '../jobs/settle-enqueues.ts'
import { type StoredGroup, sentMove } from './flow-codec.ts'

export function flowCalls(caller: Caller): FlowStore {
  const call = (operation: string, said: unknown, now?: number): Promise<Reply> =>
    caller.call(operation, [JSON.stringify(said)], now)

  return {
    async moveRuns({ moves, now }) {
      const [results, fired] = listOf(await call('moveRuns', moves.map(sentMove), now))
      return { results: listOf(results).map(readMoved), enqueued: enqueuedIn(fired) }
    },

    async getRuns(said) {
      return { runs: listOf(await call('getRuns', said)).map(runOf) }
    },

    async listRuns({ cursor: after, ...said }) {
      const [found, cursor] = listOf(
        await call('listRuns', { ...said, ...(after !== null && { cursor: after }) }),
      )
      return { runs: listOf(found).flatMap((text) => runOf(text) ?? []), cursor: textOrNull(cursor) }
    },

    async countRuns(said) {
      const [list, cursor] = listOf(await call('countRuns', said))
      const counts = listOf(list).map((row): RunCount => {
        const [flow, version, status, runs] = listOf(row)
        return {
          flow: textOf(flow),
          version: numberOf(version),
          status: textOf(status) as RunCount['status'],
          runs: numberOf(runs),
        }
      })
      const place = ({ status }: RunCount): number => RUN_STATUSES.indexOf(status)
      counts.sort(
        (a, b) =>
          Number(a.flow > b.flow) - Number(a.flow < b.flow) || a.version - b.version || place(a) - place(b),
      )
      return { counts, isAll: textOrNull(cursor) === null }
    },

    async getGroups(said) {
      return { groups: listOf(await call('getGroups', said)).map(groupOf) }
    },

    async outcomes(said) {
      const all = listOf(await call('outcomes', said))
      return { outcomes: all.map((reply) => outcomesIn(listOf(reply))) }
    },

    async openMembers(said) {
      const members = listOf(await call('openMembers', said)).map((row) => {
        const [n, id, what] = listOf(row)
        const kind = textOf(what) as 'job' | 'run'
        return { n: numberOf(n), id: kind === 'job' ? toUuid(id as Buffer) : textOf(id), kind }
      })
      return { members }
    },

    async tell({ now, ...said }) {
      const [status, fired] = listOf(await call('tell', said, now))
      return { status: textOf(status) as 'ok' | 'told', enqueued: enqueuedIn(fired) }
    },

    async addMembers({ now, jobs, ...said }) {
      const reply = await call('addMembers', { ...said, jobs: jobs.map(sentJob) }, now)
      const [status, size, fired] = listOf(reply)
      return {
        status: textOf(status) as AddMembersReply['status'],
        size: numberOf(size),
        enqueued: enqueuedIn(fired),
      }
    },

    async auditGroups({ limit, cursor: after, now }) {
      const [mended, fired, cursor] = listOf(
        await call('auditGroups', { limit, ...(after !== null && { cursor: after }) }, now),
      )
      return {
        mended: listOf(mended).map((row) => {
          const [space, group, what] = listOf(row).map(textOf) as [string, string, string]
          return { space, group, what }
        }),
        enqueued: enqueuedIn(fired),
        cursor: textOrNull(cursor),
      }
    },
  }
}

function readMoved(reply: Reply): MoveResult {
  const said = textOf(reply)
  return said === 'ok'
    ? { status: 'ok' }
    : { status: 'refused', reason: said as 'unknown' | 'moved' | 'over' }
}

function runOf(reply: Reply): Run | null {
  const text = textOrNull(reply)
  if (text === null) return null
  const run = JSON.parse(text) as Run
  return {
    ...run,
    attributes: Array.isArray(run.attributes) ? run.attributes : [],
    member: run.member ?? null,
    endedAt: run.endedAt ?? null,
    expiresAt: run.expiresAt ?? null,
    result: run.result ?? null,
    failure: run.failure ?? null,
  }
}

function groupOf(reply: Reply): Group | null {
  const [text, done, failed, fired, createdAt, endedAt, size, need] = listOf(reply)
  if (text === undefined) return null
  const mask = numberOf(fired)
  const group = JSON.parse(textOf(text)) as StoredGroup
  const jobs = Object.entries(group.jobs).map(([event, job]) => [event, newJobOf(job)])
  return {
    ...group,
    size: numberOf(size),
    need: numberOf(need),
    jobs: Object.fromEntries(jobs) as NewGroup['jobs'],
    done: numberOf(done),
    failed: numberOf(failed),
    fired: GROUP_EVENTS.filter((_, index) => (mask >> index) % 2 === 1),
    createdAt: numberOf(createdAt),
    endedAt: numberOrNull(endedAt),
  }
}

function outcomesIn(list: readonly Reply[]): Outcome[] {
  const outcomes: Outcome[] = []
  for (let at = 0; at < list.length; at += 2) {
    outcomes.push({ n: numberOf(list[at]), ...outcomeIn(list[at + 1] as Buffer) })
  }
  return outcomes
}

/** The id of a job is kept as bytes, that of a run as it is. */
const JOB_ID_BYTES = 16

/** `lua/groups.ts` says how it is written. */
export function outcomeIn(bytes: Buffer): Omit<Outcome, 'n'> {
  const length = bytes[1] as number
  const from = 6 + length
  const end = from + Math.max(0, bytes.readUInt32BE(2 + length) - 1)
  return {
    id:
      length === JOB_ID_BYTES
        ? toUuid(bytes, 2)
        : length === 0
          ? null
          : bytes.toString('utf8', 2, 2 + length),
    state: JOB_STATES[(bytes[0] as number) - FIRST_CODE] as FinalState,
    result: bytes.readUInt32BE(2 + length) === 0 ? null : bytes.toString('utf8', from, end),
    failure: end === bytes.length ? null : bytes.toString('utf8', end),
  }
}

/** The code of the first state in the scripts: "1". */
const FIRST_CODE = 0x31
