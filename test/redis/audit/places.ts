import { JOB_STATES, type JobState } from '../../../src/core/jobs/job.ts'
import type { KeyName } from '../../../src/stores/redis/keys.ts'
import {
  bytesOf,
  type Contents,
  hashOf,
  idIn,
  jobIn,
  keyIn,
  leaseIn,
  numberAt,
  numberBytes,
  queueAt,
  queueBytes,
  type StoredJob,
  setOf,
  textIn,
  uuidIn,
} from '../contents.ts'
import type { Say } from './say.ts'

const STEP = 600_000

/** The code of a state in counts and ended: its place, from 1. */
export const codeOf = (state: JobState): string => String(JOB_STATES.indexOf(state) + 1)

function placeOf({ more, enqueuedAt }: StoredJob): number {
  const rank = (more.d ?? enqueuedAt) - (more.p ?? 0) * STEP
  return more.s ? (more.a ?? Number.NaN) : rank
}

/** Where a waiting job has to stand, by its record. */
function readyMember(id: string, job: StoredJob): string {
  return `${queueBytes(job.q)}${bytesOf(job.more.l ?? '')}\0${numberBytes(placeOf(job))}${idIn(id)}`
}

function delayedMember(id: string, job: StoredJob): string {
  return queueBytes(job.q) + numberBytes(job.more.d ?? job.enqueuedAt) + idIn(id)
}

/** I-24: a job that waits or runs is in exactly one structure, at the place that its record says, and nothing else is there. */
export function checkPlaces(contents: Contents, say: Say): void {
  const jobs = hashOf(contents, 'jobs')
  const held = hashOf(contents, 'held')
  const waiting: Partial<Record<KeyName, Set<string>>> = {}
  for (const [name, memberOf] of [
    ['ready', readyMember],
    ['delayed', delayedMember],
  ] as const) {
    const ids = new Set<string>()
    waiting[name] = ids
    for (const member of setOf(contents, name)) {
      const id = keyIn(contents, queueAt(member), member.slice(-16))
      const record = jobs.get(id)
      if (ids.has(id)) say('places', `job ${uuidIn(id)} is twice in ${name}`)
      ids.add(id)
      if (!record) say('places', `job ${uuidIn(id)} is in ${name} and has no record`)
      else if (memberOf(id, jobIn(record)) !== member) {
        say('places', `job ${uuidIn(id)} is in ${name} at a place that its record does not say`)
      }
    }
  }
  for (const [id, record] of jobs) {
    const lease = held.get(id)
    const places = ['ready', 'delayed'].filter((name) => waiting[name as KeyName]?.has(id))
    if (lease) places.push('held')
    if (places.length !== 1) {
      say('places', `job ${uuidIn(id)} is in ${places.length === 0 ? 'no place' : places.join(' and ')}`)
    }
    const job = jobIn(record)
    if (lease) checkMark(id, job, leaseIn(lease), say)
    const isMore = Object.keys(job.more).length > 0
    const mark = (isMore ? (job.more.u || job.more.l ? 3 : 1) : 0) + (job.member ? 8 : 0)
    if (job.mark !== mark) say('places', `the record of job ${uuidIn(id)} has the mark ${job.mark}`)
    if (job.more.z !== undefined) say('places', `job ${uuidIn(id)} is ${job.more.z}, and not in the archive`)
  }
  for (const id of held.keys()) {
    if (!jobs.has(id)) say('places', `job ${uuidIn(id)} is held and has no record`)
  }
}

function checkMark(
  id: string,
  { q, mark, more }: StoredJob,
  lease: ReturnType<typeof leaseIn>,
  say: Say,
): void {
  if (lease.q !== q) say('places', `job ${uuidIn(id)} is held in another queue than its own`)
  // A job that has nothing more is marked 0, and 1 as soon as somebody wants it to stop.
  if (lease.mark % 4 >= 2 !== mark % 4 >= 2 || lease.mark >= 8 !== mark >= 8)
    say('places', `job ${uuidIn(id)} is held with the mark ${lease.mark}`)
  if (lease.mark % 8 >= 4 !== (more.k !== undefined)) {
    say('places', `job ${uuidIn(id)} shall stop, and its lease does not say so, or the other way round`)
  }
}

/** A finished job is in the archive with its end and its expiry, and nowhere else. */
export function checkFinished(contents: Contents, say: Say): void {
  const archive = hashOf(contents, 'archive')
  const ended = setOf(contents, 'ended')
  const expiry = setOf(contents, 'expiry')
  for (const [id, record] of archive) {
    const { q, more } = jobIn(record)
    const { z, fi = Number.NaN, ex = Number.NaN } = more
    if (hashOf(contents, 'jobs').has(id)) say('finished', `job ${uuidIn(id)} is finished and waits or runs`)
    if (z === undefined || !ended.has(queueBytes(q) + codeOf(z) + numberBytes(fi) + idIn(id))) {
      say('finished', `job ${uuidIn(id)} is not among those that ended`)
    }
    if (!expiry.has(numberBytes(ex) + id)) say('finished', `job ${uuidIn(id)} never expires`)
  }
  if (ended.size !== archive.size) say('finished', `${ended.size} ended, and ${archive.size} are kept`)
  if (expiry.size !== archive.size) say('finished', `${expiry.size} expire, and ${archive.size} are kept`)
}

/** I-25: the counts are what is counted. */
export function checkCounts(contents: Contents, say: Say): void {
  const counted = new Map<string, number>()
  const count = (q: number, state: JobState): void => {
    const key = queueBytes(q) + codeOf(state)
    counted.set(key, (counted.get(key) ?? 0) + 1)
  }
  for (const member of setOf(contents, 'ready')) count(queueAt(member), 'ready')
  for (const member of setOf(contents, 'delayed')) count(queueAt(member), 'delayed')
  for (const lease of hashOf(contents, 'held').values()) count(leaseIn(lease).q, 'running')
  for (const record of hashOf(contents, 'archive').values()) {
    const { q, more } = jobIn(record)
    if (more.z) count(q, more.z)
  }
  const stored = hashOf(contents, 'counts')
  for (const key of new Set([...counted.keys(), ...stored.keys()])) {
    const said = Number(stored.get(key) ?? 0)
    const real = counted.get(key) ?? 0
    const state = JOB_STATES[Number(key.slice(4)) - 1]
    if (said !== real) say('counts', `queue ${queueAt(key)} counts ${said} ${state}, and there are ${real}`)
  }
}

/** A unique key belongs to a job that is there, or to a span of time that somebody will end. */
export function checkUniques(contents: Contents, say: Say): void {
  const jobs = hashOf(contents, 'jobs')
  const uniques = hashOf(contents, 'uniques')
  const windows = setOf(contents, 'windows')
  for (const [field, value] of uniques) {
    const key = textIn(field.slice(4))
    const id = keyIn(contents, queueAt(field), value.toString('latin1', 0, 16))
    if (value.length > 16) {
      if (!windows.has(value.toString('latin1', 16) + field))
        say('uniques', `the key "${key}" is held for ever`)
      continue
    }
    const record = jobs.get(id)
    const job = record && jobIn(record)
    const [own, scope] = job?.more.u ?? []
    if (!job || job.q !== queueAt(field) || own !== key || scope === 'window') {
      say('uniques', `the key "${key}" is held by job ${uuidIn(id)}, which is not there or has another`)
    } else if (scope === 'queued' && hashOf(contents, 'held').has(id)) {
      say('uniques', `the key "${key}" is held by job ${uuidIn(id)}, which has started`)
    }
  }
  for (const [id, record] of jobs) {
    const { q, more } = jobIn(record)
    if (more.u?.[1] !== 'active') continue
    const holder = uniques.get(queueBytes(q) + bytesOf(more.u[0]))
    if (holder?.toString('latin1', 0, 16) !== idIn(id)) {
      say('uniques', `job ${uuidIn(id)} does not hold its key "${more.u[0]}"`)
    }
  }
}

/** Windows that are not over belong to a key. */
export function checkWindows(contents: Contents, now: number, say: Say): void {
  const uniques = hashOf(contents, 'uniques')
  for (const member of setOf(contents, 'windows')) {
    const isCurrent = uniques.get(member.slice(8))?.toString('latin1', 16) === member.slice(0, 8)
    if (!isCurrent && numberAt(member) > now) {
      say('uniques', `the span of "${textIn(member.slice(12))}" is not over, and nobody holds the key`)
    }
  }
}
