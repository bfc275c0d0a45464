import { isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { listKey, timeOf } from '../../core/jobs/transitions.ts'
import { byKey, DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import type { CountCall, CountReply, ListCall, ListReply, Selection, Where } from '../../store/store.ts'
import type { Table } from './table.ts'

/** The jobs of a selection, in list order. */
export function select(table: Table, space: string, selection: Selection, oldestFirst = false): Job[] {
  const { queue, state, where = {} } = selection
  return table
    .inState(space, queue, state)
    .filter((job) => fits(job, where))
    .sort(inListOrder(table, state, oldestFirst))
}

function fits(job: Job, { after = -Infinity, before = Infinity, text, lane }: Where): boolean {
  if (timeOf(job) < after || timeOf(job) >= before) return false
  if (lane !== undefined && laneOf(job) !== lane) return false
  return text === undefined || job.payload.includes(text) || (job.failure?.includes(text) ?? false)
}

/** The number of jobs in a selection, among the first `look` of the list if that is given. */
export function count(table: Table, { space, queue, state, where = {}, limit, look }: CountCall): CountReply {
  const looked = select(table, space, { queue, state }).slice(0, look)
  const found = looked.filter((job) => fits(job, where)).length
  return { count: Math.min(limit ?? Infinity, found), ...(look !== undefined && { looked: looked.length }) }
}

export function list(table: Table, call: ListCall): ListReply {
  const all = select(table, call.space, call, call.oldestFirst)
  const after = beyond(table, all, call.cursor, call.oldestFirst)
  const jobs = after.slice(0, call.limit)
  return { jobs, cursor: after.length > jobs.length ? cursorAt(table, jobs.at(-1)) : null }
}

/** The jobs, all in one state, after a cursor. */
export function beyond(
  table: Table,
  jobs: readonly Job[],
  cursor: string | null,
  oldestFirst = false,
): readonly Job[] {
  const [first] = jobs
  if (cursor === null || first === undefined) return jobs
  const order = byPosition(first.state, oldestFirst)
  const last = JSON.parse(cursor) as Position
  return jobs.filter((job) => order(positionOf(table, job), last) > 0)
}

/** The cursor after a job: its position. */
export function cursorAt(table: Table, job: Job | undefined): string | null {
  return job === undefined ? null : JSON.stringify(positionOf(table, job))
}

type Position = readonly [lane: string, key: number, id: string]

/** Ready jobs are listed lane by lane, all others as one list. */
function positionOf(table: Table, job: Job): Position {
  return job.state === 'ready' ? [laneOf(job), table.placeOf(job), job.id] : ['', listKey(job), job.id]
}

function inListOrder(table: Table, state: JobState, oldestFirst: boolean): (a: Job, b: Job) => number {
  const order = byPosition(state, oldestFirst)
  return (a, b) => order(positionOf(table, a), positionOf(table, b))
}

/** Finished jobs newest first, all others in processing order. */
function byPosition(state: JobState, oldestFirst: boolean): (a: Position, b: Position) => number {
  const direction = isFinal(state) && !oldestFirst ? -1 : 1
  return ([laneA, keyA, idA], [laneB, keyB, idB]) =>
    direction * (byKey(laneA, laneB) || keyA - keyB || compare(idA, idB))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function laneOf(job: Job): string {
  return job.lane ?? DEFAULT_LANE
}
