import type { Run } from '../../src/core/flows/runs.ts'
import { readPosition } from '../../src/flows/position.ts'
import type { FlowHistory, GroupEntry, RunEntry, SealEntry } from '../proof/flows/history.ts'
import type { Part } from '../proof/flows/shape.ts'
import { shapesIn } from '../proof/flows/walk.ts'
import type { AuditEntry, HistoryRecord } from '../proof/history.ts'
import type { Sometimes } from './sometimes.ts'
import type { TrialResult } from './trial.ts'

type Test = Sometimes['in']

const flows =
  (test: (flows: FlowHistory, trial: TrialResult) => boolean): Test =>
  (trial) =>
    trial.history.flows !== undefined && test(trial.history.flows, trial)

/** A run made this change. */
const changed = (test: (entry: RunEntry, before: Run) => boolean): Test =>
  flows(({ runs }) => runs.some((entry) => entry.before !== null && test(entry, entry.before)))

/** A run of a shape with such a part was done. */
const shaped = (test: (part: Part) => boolean): Test =>
  flows(({ shapes, runs }) => {
    const all = shapesIn(shapes)
    const has = (parts: readonly Part[]): boolean =>
      parts.some(
        (part) =>
          test(part) ||
          (part.kind === 'when' && (has(part.yes) || has(part.no ?? []))) ||
          (part.kind === 'repeat' && has(part.body)),
      )
    return runs.some(({ after }) => {
      const shape = after.status === 'done' ? all.get(`${after.flow} ${after.version}`) : undefined
      return shape !== undefined && has(shape.parts)
    })
  })

const each = (join: string): Test => shaped((part) => part.kind === 'each' && part.join === join)

/** A group without a run for which this holds. */
const group = (test: (entry: GroupEntry, flows: FlowHistory) => boolean): Test =>
  flows((all) => [...all.groups.values()].some((entry) => entry.made.run === null && test(entry, all)))

/** A seal, beside the places at which members of that group ended. */
const sealed = (test: (seal: SealEntry, ends: readonly number[]) => boolean): Test =>
  flows(({ seals, members }, { history }) =>
    [...seals].some(([id, seal]) => {
      const ids = new Set([...(members.get(id)?.values() ?? [])].map((member) => member.id))
      const ends = history.audit.filter(
        ({ id: job, before, after }) =>
          ids.has(job) && before?.state === 'running' && (after === null || after.finishedAt !== null),
      )
      return test(
        seal,
        ends.map(({ n, seq }) => n ?? seq),
      )
    }),
  )

const record =
  (test: (record: HistoryRecord) => boolean): Test =>
  ({ history }) =>
    history.records.some(test)
const faultOf = (operation: string): Test =>
  record((entry) => entry.f === 'fault' && entry.what.endsWith(` ${operation}`))
const fault = (what: string): Test => record((entry) => entry.f === 'fault' && entry.what === what)

/** The changes of the jobs that groups have enqueued for runs. */
function controls({ history }: TrialResult, { groups }: FlowHistory): AuditEntry[] {
  const ids = new Set<string>()
  for (const { made } of groups.values())
    if (made.run !== null) for (const job of Object.values(made.jobs)) if (job) ids.add(job.id)
  return history.audit.filter(({ id }) => ids.has(id))
}

/** Rare states of flows that the trials together must have been in. */
export const SOMETIMES_OF_FLOWS: readonly Sometimes[] = [
  {
    what: 'a retry of a job was refused because of its run',
    in: record((entry) => entry.f === 'command' && entry.action === 'retry' && entry.reason === 'run'),
  },
  { what: 'a run with a step was done', in: shaped((part) => part.kind === 'step') },
  {
    what: 'a run with another flow as a step was done',
    in: shaped((part) => part.kind === 'step' && 'flow' in part.work),
  },
  {
    what: 'a run with a flow for each item was done',
    in: shaped((part) => part.kind === 'each' && 'flow' in part.work),
  },
  { what: 'a run with branches was done', in: shaped((part) => part.kind === 'parallel') },
  {
    what: 'a run with branches of which the first failure counts was done',
    in: shaped((part) => part.kind === 'parallel' && part.join === 'failFast'),
  },
  { what: 'a run with a choice was done', in: shaped((part) => part.kind === 'when') },
  { what: 'a run with a loop was done', in: shaped((part) => part.kind === 'repeat') },
  {
    what: 'a loop went round more than once',
    in: changed(({ after }) => Object.values(readPosition(after.position).rounds).some((round) => round > 1)),
  },
  { what: 'a run that slept was done', in: shaped((part) => part.kind === 'sleep') },
  { what: 'a run that waited for a signal was done', in: shaped((part) => part.kind === 'signal') },
  {
    what: 'a run with an empty step was done',
    in: shaped((part) => part.kind === 'each' && part.items === 0),
  },
  { what: 'a run that waits for all was done', in: each('all') },
  { what: 'a run that waits for all to have settled was done', in: each('settled') },
  { what: 'a run that waits for the first was done', in: each('first') },
  { what: 'a run that fails with the first was done', in: each('failFast') },
  {
    what: 'the first were enough, and the others were cancelled',
    in: flows(({ groups, members }, { history }) =>
      [...groups.values()].some(
        ({ made }) =>
          made.failing === 'hopeless' &&
          made.size > 2 &&
          [...(members.get(made.id)?.values() ?? [])].some(({ id }) =>
            history.audit.some(
              (entry) =>
                entry.id === id && (entry.after?.state === 'cancelled' || entry.after?.cancelReason != null),
            ),
          ),
      ),
    ),
  },
  {
    what: 'a signal came before it was waited for',
    in: flows(({ tells, groups }) => tells.some(({ n, group: id }) => n < (groups.get(id)?.n ?? -1))),
  },
  {
    what: 'a signal came while it was waited for',
    in: flows(({ tells, groups }) => tells.some(({ n, group: id }) => n > (groups.get(id)?.n ?? Infinity))),
  },
  {
    what: 'the time for a signal was over',
    in: changed(({ after }, before) => {
      const name = Object.keys(readPosition(before.position).signals).at(-1) ?? ''
      return (JSON.parse(after.state) as Record<string, unknown>)[name] === null
    }),
  },
  { what: 'a run failed', in: changed(({ after }) => after.status === 'failed') },
  {
    what: 'a run that had failed went on because somebody mended a member',
    in: changed(
      ({ after }, { status }) =>
        status === 'failed' &&
        after.status === 'running' &&
        readPosition(after.position).waits?.id !== 'begin',
    ),
  },
  {
    what: 'a run that had failed at its last step was done because somebody mended a member',
    in: changed(({ after }, { status }) => status === 'failed' && after.status === 'done'),
  },
  {
    what: 'a branch that had failed was done, and so was what waited for it',
    in: flows(({ runs }) =>
      runs.some(
        ({ before, after }) =>
          before?.status === 'failed' && after.status !== 'failed' && after.member !== null,
      ),
    ),
  },
  {
    what: 'something was undone',
    in: flows((_, { history }) => history.audit.some(({ after }) => after?.queue === 'undone')),
  },
  {
    what: 'two things were undone one after the other',
    in: changed(({ after }, before) => {
      const [is, was] = [readPosition(after.position), readPosition(before.position)]
      return (
        is.failure !== null && was.failure !== null && is.done.length > 0 && is.done.length < was.done.length
      )
    }),
  },
  {
    what: 'what was undone was done again',
    in: flows(({ runs }) => {
      const undone = new Set<string>()
      for (const { before, after } of runs) {
        const { failure, waits } = readPosition(after.position)
        if (after.status === 'failed' && failure !== null) undone.add(after.id)
        if (before?.status === 'failed' && waits?.id === 'begin' && undone.has(after.id)) return true
      }
      return false
    }),
  },
  { what: 'a run was cancelled', in: changed(({ after }) => after.status === 'cancelled') },
  {
    what: 'a branch was cancelled with its run',
    in: changed(({ after }) => after.status === 'cancelled' && after.member !== null),
  },
  {
    what: 'a run was retried at the step at which it stood',
    in: changed(
      ({ after }, { status }) =>
        status !== 'running' &&
        readPosition(after.position).waits?.id === 'begin' &&
        readPosition(after.position).from === undefined,
    ),
  },
  {
    what: 'a run was retried from another step',
    in: changed(({ after }) => readPosition(after.position).from !== undefined),
  },
  {
    what: 'a control was late',
    in: flows(({ runs, groups }, trial) => {
      // It left, and its run did not move in that moment.
      const moves = new Set(runs.map(({ after, at }) => `${after.id} ${at}`))
      const runOf = new Map<string, string | null>()
      for (const { made } of groups.values())
        for (const job of Object.values(made.jobs)) if (job) runOf.set(job.id, made.run)
      return controls(trial, { groups } as FlowHistory).some(
        ({ id, at, before, after }) =>
          before?.state === 'running' && after === null && !moves.has(`${runOf.get(id)} ${at}`),
      )
    }),
  },
  {
    what: 'a control ran again because its worker had died',
    in: flows((all, trial) => controls(trial, all).some(({ after }) => (after?.counters?.lost ?? 0) > 0)),
  },
  {
    what: 'a member was retried',
    in: flows(({ members }, { history }) => {
      const ids = new Set([...members.values()].flatMap((own) => [...own.values()].map(({ id }) => id)))
      return history.audit.some(({ id, after }) => ids.has(id) && (after?.generation ?? 0) > 0)
    }),
  },
  {
    what: 'a member that was done was retried',
    in: flows(({ members }, { history }) => {
      const ids = new Set([...members.values()].flatMap((own) => [...own.values()].map(({ id }) => id)))
      return history.audit.some(
        ({ id, before, after }) => ids.has(id) && before?.state === 'done' && after?.state === 'ready',
      )
    }),
  },
  {
    what: 'a start was repeated',
    in: flows(({ calls }) => {
      const starts = calls.flatMap(({ runs, groups }) => (groups.length === 0 ? runs : []))
      return new Set(starts).size < starts.length
    }),
  },
  { what: "a start's answer was lost", in: fault('unanswered insert') },
  { what: 'a signal went wrong on its way', in: faultOf('tell') },
  { what: 'a cancel or a retry went wrong on its way', in: faultOf('moveRuns') },
  { what: 'what a worker wanted to know of runs got lost', in: faultOf('getRuns') },
  { what: 'what a worker wanted to know of outcomes got lost', in: faultOf('outcomes') },
  { what: 'a process died', in: record(({ f }) => f === 'crash') },
  {
    what: 'a group without a run succeeded',
    in: group((entry, { final }) => final.get(entry.made.id)?.group.fired.includes('success') === true),
  },
  {
    what: 'a group without a run failed',
    in: group((entry, { final }) => final.get(entry.made.id)?.group.fired.includes('failure') === true),
  },
  { what: 'an empty group was over at once', in: group(({ made }) => made.size === 0) },
  {
    what: 'an open group was sealed before all had ended',
    in: sealed(({ n }, ends) => ends.some((end) => end > n)),
  },
  {
    what: 'an open group was sealed when all had ended',
    in: sealed(({ n, size }, ends) => size > 0 && ends.every((end) => end < n)),
  },
  { what: 'an open group was sealed that nobody had joined', in: sealed(({ size }) => size === 0) },
  {
    what: 'somebody came too late for a group that was sealed',
    in: flows(({ calls, members }, { history }) => {
      const added = new Set([...members.values()].flatMap((own) => [...own.values()].map(({ id }) => id)))
      const there = new Set(history.audit.map(({ id }) => id))
      return calls.some(
        ({ runs, groups, jobs }) =>
          runs.length + groups.length === 0 &&
          jobs.length > 0 &&
          jobs.every((id) => !added.has(id) && !there.has(id)),
      )
    }),
  },
  { what: 'what somebody added to a group got lost on its way', in: faultOf('addMembers') },
  { what: 'the answer to an add was lost', in: fault('unanswered addMembers') },
  {
    what: 'a chain came to its end',
    in: group(
      ({ made }, { members, final }) =>
        (members.get(made.id)?.get(0)?.later.length ?? 0) > 0 && final.get(made.id)?.group.done === 1,
    ),
  },
  {
    what: 'a handler spawned jobs, and one more followed them',
    in: ({ history }) =>
      history.records.some(
        (entry) => entry.f === 'enqueue' && entry.within !== undefined && entry.queue === 'part',
      ) && history.audit.some(({ after }) => after?.queue === 'joined' && after.state === 'done'),
  },
  { what: 'somebody waited for a run and got its result', in: flows(({ results }) => results.length > 0) },
]
