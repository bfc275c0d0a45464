import type { KeyName } from '../../../src/stores/redis/keys.ts'
import {
  bytesOf,
  type Contents,
  hashOf,
  numberAt,
  numberBytes,
  queueAt,
  setOf,
  textIn,
  uuidIn,
} from '../contents.ts'
import type { Say } from './say.ts'

/** The end of a record that has none. */
const NEVER = 8_640_000_000_000_000

/** The lines of a job have places without gaps, and go together. */
export function checkNotes(contents: Contents, say: Say): void {
  const notes = hashOf(contents, 'notes')
  const log = hashOf(contents, 'lines:log')
  const ends = setOf(contents, 'notes:end')
  let lines = 0
  for (const [id, value] of notes) {
    const { first, last, till } = JSON.parse(value.toString()) as Record<'first' | 'last' | 'till', number>
    lines += last - first + 1
    for (let place = first; place <= last; place++) {
      if (!log.has(id + numberBytes(place))) say('notes', `line ${place} of job ${uuidIn(id)} is not there`)
    }
    if (!ends.has(numberBytes(till) + id)) say('notes', `the notes of job ${uuidIn(id)} stay for ever`)
  }
  if (log.size !== lines) say('notes', `there are ${log.size} lines, and jobs have ${lines}`)
  if (ends.size !== notes.size)
    say('notes', `the notes of ${ends.size} jobs shall go, and ${notes.size} have some`)
}

/** A record is listed, and goes if it has an end. */
export function checkRecords(contents: Contents, say: Say): void {
  const records = hashOf(contents, 'records')
  const index = setOf(contents, 'records:index')
  const ends = setOf(contents, 'records:end')
  let ending = 0
  for (const [name, value] of records) {
    const shown = textIn(name).replaceAll('\0', ' ')
    if (!index.has(name)) say('records', `"${shown}" is not listed`)
    const end = numberAt(value.toString('latin1'))
    if (end === NEVER) continue
    ending++
    if (!ends.has(numberBytes(end) + name)) say('records', `"${shown}" stays for ever`)
  }
  if (index.size !== records.size)
    say('records', `${index.size} records are listed, and there are ${records.size}`)
  if (ends.size !== ending) say('records', `${ends.size} records shall go, and ${ending} have an end`)
}

/** A schedule is listed, and is due if it will fire. */
export function checkSchedules(contents: Contents, say: Say): void {
  const expected = new Set<string>()
  for (const value of hashOf(contents, 'schedules').values()) {
    const { space, id, nextAt, pausedAt } = JSON.parse(value.toString()) as {
      space: string
      id: string
      nextAt?: number
      pausedAt?: number
    }
    expected.add(`i${bytesOf(space)}\0${bytesOf(id)}`)
    if (nextAt !== undefined && pausedAt === undefined) {
      expected.add(`d${bytesOf(space)}\0${numberBytes(nextAt)}${bytesOf(id)}`)
    }
  }
  const due = setOf(contents, 'due')
  for (const member of expected) if (!due.has(member)) say('schedules', `"${textIn(member)}" is not found`)
  for (const member of due)
    if (!expected.has(member)) say('schedules', `"${textIn(member)}" leads to no schedule`)
}

/** A queue's number and its name lead to each other, and whatever has a number has a name. */
export function checkNames(contents: Contents, say: Say): void {
  const names = hashOf(contents, 'names')
  for (const [key, value] of names) {
    const isNumber = key.startsWith('\0')
    const back = names.get(isNumber ? value.toString('latin1') : `\0${value.toString()}`)?.toString('latin1')
    if (back !== (isNumber ? key.slice(1) : key))
      say('names', `"${textIn(key)}" is ${value.toString()}, which is something else`)
  }
  const used = new Set<number>()
  for (const set of ['ready', 'delayed', 'ended', 'leases', 'started'] as const) {
    for (const member of setOf(contents, set)) used.add(queueAt(member))
  }
  for (const q of used) if (!names.has(`\0${q}`)) say('names', `queue ${q} has no name`)
}

/** What is there although no job, group or run is: these must be empty once all are gone and everything was pruned. */
const OF_JOBS: readonly KeyName[] = [
  'jobs',
  'ready',
  'delayed',
  'held',
  'claims',
  'live',
  'leases',
  'started',
  'tasks',
  'archive',
  'ended',
  'expiry',
  'uniques',
  'windows',
  'gone',
  'gone:index',
  'turns',
  'slices',
  'sleepers',
  'notes',
  'lines:log',
  'notes:end',
  'groups',
  'outcomes',
  'results',
  'members',
  'runs',
  'runs:index',
  'flows:end',
]

export function checkLeftOver(contents: Contents, say: Say): void {
  for (const name of OF_JOBS) {
    const { size } = hashOf(contents, name).size > 0 ? hashOf(contents, name) : setOf(contents, name)
    if (size > 0) say('left over', `${name} has ${size} entries, and there is no job any more`)
  }
  // A lane that has had more than its share so far is remembered until the others have caught up.
  for (const [name, lane] of hashOf(contents, 'lanes')) {
    const clock =
      hashOf(contents, 'lines')
        .get(String(queueAt(name)))
        ?.readDoubleBE(0) ?? 0
    if (lane.readDoubleBE(0) < clock)
      say('left over', `lane "${textIn(name.slice(4))}" is there, and has no job any more`)
  }
  for (const [key, value] of hashOf(contents, 'lines')) {
    const running = value.readDoubleBE(key.startsWith('s') ? 0 : 8)
    if (running !== 0) say('left over', `the limit "${textIn(key)}" has ${running} in use`)
  }
  for (const [key, value] of hashOf(contents, 'counts')) {
    if (Number(value) !== 0) say('left over', `queue ${queueAt(key)} counts ${value.toString()}`)
  }
}
