/** Compares what a store holds with what programs were told. Knows nothing of disks and stores. */
import type { JobState } from '../../src/index.ts'
import { payloadOf } from './crew.ts'
import type { Line } from './evidence.ts'

/** A job as the store holds it. */
export interface StoredJob {
  readonly id: string
  readonly queue: string
  readonly state: JobState
  readonly payload: string
  readonly result: string | null
  /** Absent where nothing is compared with counts. */
  readonly dueAt?: number
}

export interface Holdings {
  readonly jobs: readonly StoredJob[]
  /** Whether the store remembers to have discarded this job. */
  readonly wasDiscarded: (id: string) => boolean
}

export interface Verdict {
  /** Jobs whose enqueue was acknowledged, alone or as part of a finished parent. */
  readonly acknowledged: number
  /** Jobs of which a listener was told that they ended. */
  readonly ended: number
  /** Acknowledged jobs without a trace. */
  readonly lost: number
  /** One sentence each. */
  readonly violations: readonly string[]
}

interface Told {
  readonly queueOf: Map<string, string>
  /** Acknowledged enqueues: the ids a key may have. */
  readonly enqueued: Map<string, string[]>
  /** By parent. */
  readonly children: Map<string, Map<string, string[]>>
  readonly ends: Map<string, 'finished' | 'dead' | 'cancelled'>
  readonly violations: string[]
}

/**
 * `drained`: everything has to be at its end.
 * `bytes`: how long payloads were made.
 */
export function judge(
  lines: readonly Line[],
  holdings: Holdings,
  { drained, bytes }: { readonly drained: boolean; readonly bytes: number },
): Verdict {
  const told = readTold(lines)
  const violations = [...told.violations]
  const byKey = storedByKey(holdings, told, bytes, violations)

  for (const [key, end] of told.ends) {
    const problem = endProblem(end, told.queueOf.get(key), key, byKey.get(key))
    if (problem) violations.push(problem)
  }
  const acknowledged = acknowledgedIds(told)
  let lost = 0
  for (const [key, ids] of acknowledged) {
    if (byKey.has(key) || ids.some(holdings.wasDiscarded)) continue
    lost++
    violations.push(`lost: ${key} (queue ${told.queueOf.get(key)}) was acknowledged and is nowhere`)
  }
  violations.push(...orphans(told, holdings, byKey))
  if (drained) {
    for (const { id, state } of holdings.jobs) {
      if (state === 'ready' || state === 'delayed' || state === 'running')
        violations.push(`not drained: job ${id} is ${state}`)
    }
  }
  return { acknowledged: acknowledged.size, ended: told.ends.size, lost, violations }
}

function readTold(lines: readonly Line[]): Told {
  const told: Told = {
    queueOf: new Map(),
    enqueued: new Map(),
    children: new Map(),
    ends: new Map(),
    violations: [],
  }
  for (const { sign, key, more } of lines) {
    if (sign === 'invoked') told.queueOf.set(key, more)
    else if (sign === 'enqueued') told.enqueued.set(key, [more])
    else if (sign === 'within') addChild(told, key, more)
    else if (sign === 'started' && told.ends.has(key))
      told.violations.push(`run again: ${key} started after it was told to have ended`)
    else if (sign === 'finished' || sign === 'dead' || sign === 'cancelled') told.ends.set(key, sign)
  }
  return told
}

function addChild(told: Told, parent: string, more: string): void {
  const [child, id] = more.split(':') as [string, string]
  told.queueOf.set(child, child.slice(child.lastIndexOf('/') + 1))
  const children = told.children.get(parent) ?? new Map<string, string[]>()
  children.set(child, [...(children.get(child) ?? []), id])
  told.children.set(parent, children)
}

/** What was acknowledged, with the ids each may have. */
function acknowledgedIds(told: Told): Map<string, readonly string[]> {
  const all = new Map<string, readonly string[]>(told.enqueued)
  for (const [parent, children] of told.children) {
    if (told.ends.get(parent) !== 'finished') continue
    for (const [child, ids] of children) all.set(child, ids)
  }
  return all
}

/** The jobs by their keys; complains of those that nobody asked for, that are there twice, or that were changed. */
function storedByKey(
  { jobs }: Holdings,
  told: Told,
  bytes: number,
  violations: string[],
): Map<string, StoredJob> {
  const byKey = new Map<string, StoredJob>()
  for (const job of jobs) {
    const key = keyOf(job.payload)
    if (key === null || job.payload !== JSON.stringify(payloadOf(key, bytes))) {
      violations.push(`damaged: the payload of job ${job.id} is not what was enqueued`)
      continue
    }
    if (told.queueOf.get(key) !== job.queue) violations.push(`unexpected: ${key} in queue ${job.queue}`)
    if (byKey.has(key)) violations.push(`doubled: ${key} is there twice`)
    byKey.set(key, job)
  }
  return byKey
}

function keyOf(payload: string): string | null {
  try {
    const { key } = JSON.parse(payload) as { key?: unknown }
    return typeof key === 'string' ? key : null
  } catch {
    return null
  }
}

const STATE_OF = { finished: 'done', dead: 'dead', cancelled: 'cancelled' } as const

/** Whether the store agrees with what a listener was told of a job's end. */
function endProblem(
  end: keyof typeof STATE_OF,
  queue: string | undefined,
  key: string,
  job: StoredJob | undefined,
): string | null {
  if (end === 'finished' && queue === 'dropped')
    return job ? `taken back: ${key} was finished and dropped, and is ${job.state}` : null
  if (!job) return `lost: ${key} was ${end} and is nowhere`
  if (job.state !== STATE_OF[end]) return `taken back: ${key} was ${end} and is ${job.state}`
  if (end === 'finished' && job.result !== JSON.stringify(key))
    return `wrong result: ${key} has ${job.result}`
  return null
}

/** Children exist if, and only if, their parent is done: also when nobody was told of its end. */
function orphans(told: Told, holdings: Holdings, byKey: ReadonlyMap<string, StoredJob>): string[] {
  const found: string[] = []
  for (const [parent, children] of told.children) {
    const isDone = byKey.get(parent)?.state === 'done'
    for (const [child, ids] of children) {
      const exists = byKey.has(child) || ids.some(holdings.wasDiscarded)
      if (exists && !isDone) found.push(`not atomic: ${child} exists, but its parent is not done`)
      if (!exists && isDone) found.push(`not atomic: the parent of ${child} is done, but it does not exist`)
    }
  }
  return found
}
