import { keyOf } from '../../../src/core/lanes/key-range.ts'
import {
  bytesOf,
  type Contents,
  hashOf,
  jobIn,
  keyIn,
  leaseIn,
  numberBytes,
  queueAt,
  queueBytes,
  setOf,
  textIn,
  uuidIn,
} from '../contents.ts'
import type { Say } from './say.ts'

const NEVER = 8_640_000_000_000_000

/** Of the limits that were said, those the audit looks at. */
interface Fields {
  readonly concurrency?: number | null
  readonly laneConcurrency?: number | null
  readonly strict?: boolean | null
  readonly shared?: string | null
}

interface Lane {
  readonly turn: number
  readonly running: number
  readonly wakesAt: number
  readonly heldUntil: number
  readonly isActive: boolean
  readonly standing: number
  readonly occupant: string | null
}

function laneIn(value: Buffer): Lane {
  const number = (n: number): number => value.readDoubleBE(8 * n)
  return {
    turn: number(0),
    running: number(1),
    wakesAt: Math.max(number(3), number(4), number(5)),
    heldUntil: number(4),
    isActive: value[48] === 1,
    standing: value[49] as number,
    occupant: value.length > 50 ? value.toString('latin1', 50) : null,
  }
}

/** Runs of each queue and of each of its lanes, by what is held. */
function runningIn(contents: Contents): {
  readonly queues: Map<number, number>
  readonly lanes: Map<string, number>
} {
  const queues = new Map<number, number>()
  const lanes = new Map<string, number>()
  const jobs = hashOf(contents, 'jobs')
  for (const [id, value] of hashOf(contents, 'held')) {
    const { q } = leaseIn(value)
    const record = jobs.get(id)
    const lane = queueBytes(q) + bytesOf((record && jobIn(record).more.l) ?? '')
    queues.set(q, (queues.get(q) ?? 0) + 1)
    lanes.set(lane, (lanes.get(lane) ?? 0) + 1)
  }
  return { queues, lanes }
}

/** What is in use of a limited queue, and of a limit that several share, is what runs. */
export function checkLines(contents: Contents, say: Say): void {
  const { queues } = runningIn(contents)
  const shared = new Map<string, number>()
  const lines = hashOf(contents, 'lines')
  for (const [key, value] of lines) {
    if (key.startsWith('s')) continue
    const q = Number(key)
    const running = value.readDoubleBE(8)
    const real = queues.get(q) ?? 0
    if (running !== real) say('lines', `queue ${q} has ${running} of its limit in use, and ${real} run`)
    const name = (JSON.parse(value.toString('utf8', 25)) as Fields).shared
    if (name) {
      const limit = `s${bytesOf(spaceOf(contents, q))}\0${bytesOf(name)}`
      shared.set(limit, (shared.get(limit) ?? 0) + real)
    }
  }
  for (const limit of new Set([
    ...shared.keys(),
    ...[...lines.keys()].filter((key) => key.startsWith('s')),
  ])) {
    const said = lines.get(limit)?.readDoubleBE(0) ?? 0
    const real = shared.get(limit) ?? 0
    if (said !== real)
      say('lines', `the shared limit "${textIn(limit.slice(1))}" has ${said} in use, and ${real} run`)
  }
}

/** A lane counts what it runs, stands where it can be found, and has a turn if it could start something. */
export function checkLanes(contents: Contents, say: Say): void {
  const lines = hashOf(contents, 'lines')
  const lanes = new Map([...hashOf(contents, 'lanes')].map(([name, value]) => [name, laneIn(value)]))
  const { lanes: running } = runningIn(contents)
  const places = { turns: 0, sleepers: 0, slices: 0 }
  for (const [name, lane] of lanes) {
    const prefix = name.slice(0, 4)
    const key = name.slice(4)
    const title = `lane "${textIn(key)}" of queue ${queueAt(name)}`
    const real = running.get(name) ?? 0
    if (lane.running !== real) say('lanes', `${title} counts ${lane.running} runs, and ${real} run`)
    const room = roomOf(contents, queueAt(name), textIn(key))
    const mayStart = lane.isActive && lane.running < room
    if (mayStart !== lane.standing > 0)
      say('lanes', `${title} has room for ${room}, runs ${real}, and stands in ${lane.standing}`)
    if (lane.standing > 0) {
      const set = lane.standing === 1 ? 'turns' : 'sleepers'
      places[set]++
      const moment = lane.standing === 1 ? lane.turn : lane.wakesAt
      if (!setOf(contents, set).has(prefix + numberBytes(moment) + key))
        say('lanes', `${title} is not in ${set}`)
    }
    if (lane.standing === 1 && lines.get(String(queueAt(name)))?.[24] === 1) {
      places.slices++
      const slice = String.fromCharCode(Math.floor(keyOf(textIn(key)) / 4_096))
      if (!setOf(contents, 'slices').has(prefix + slice + numberBytes(lane.turn) + key))
        say('lanes', `${title} is not in its slice`)
    }
    const isBusy = lane.isActive || lane.running > 0 || lane.occupant !== null
    if (!setOf(contents, 'busy').has((isBusy ? 'b' : 'i') + name))
      say('lanes', `${title} is not listed as it is`)
    const occupant =
      lane.occupant === null
        ? null
        : hashOf(contents, 'jobs').get(keyIn(contents, queueAt(name), lane.occupant))
    if (occupant === undefined) say('lanes', `${title} is occupied by a job that is not there`)
    else if (occupant && (jobIn(occupant).more.l ?? '') !== textIn(key))
      say('lanes', `${title} is occupied by a job of another`)
  }
  for (const set of ['turns', 'sleepers', 'slices'] as const) {
    const { size } = setOf(contents, set)
    if (size !== places[set]) say('lanes', `${set} has ${size} lanes, and ${places[set]} stand there`)
  }
  const { size } = setOf(contents, 'busy')
  if (size !== lanes.size) say('lanes', `${size} lanes are listed, and there are ${lanes.size}`)

  for (const member of setOf(contents, 'ready')) {
    const name = member.slice(0, -25)
    const isLimited = lines.has(String(queueAt(name)))
    if (!isLimited && name.length > 4)
      say('lanes', `job ${uuidIn(member.slice(-16))} has a lane in a queue without any`)
    if (isLimited && !lanes.get(name)?.isActive) {
      say('lanes', `job ${uuidIn(member.slice(-16))} is ready in a lane that has no work`)
    }
  }
  for (const name of running.keys()) {
    if (lines.has(String(queueAt(name))) && !lanes.has(name))
      say('lanes', `jobs of lane "${textIn(name.slice(4))}" run, and there is none`)
  }
}

/** A lane that is held knows until when. */
export function checkHolds(contents: Contents, now: number, say: Say): void {
  for (const value of hashOf(contents, 'holds').values()) {
    const hold = JSON.parse(value.toString()) as Partial<
      Record<'space' | 'queue' | 'lane', string | null>
    > & { till?: number }
    const { space, queue, lane, till = NEVER } = hold
    if (space == null || queue == null || lane == null || till <= now) continue
    const q = Number(hashOf(contents, 'names').get(`${bytesOf(space)}\0${bytesOf(queue)}`) ?? 0)
    const stored = hashOf(contents, 'lanes').get(queueBytes(q) + bytesOf(lane))
    if (!stored || laneIn(stored).heldUntil < till)
      say('holds', `lane "${lane}" of "${queue}" is held and does not know it`)
  }
}

function spaceOf(contents: Contents, q: number): string {
  const name = hashOf(contents, 'names').get(`\0${q}`)?.toString() ?? ''
  return name.slice(0, name.indexOf('\0'))
}

/** How many of a lane may run at once. */
function roomOf(contents: Contents, q: number, lane: string): number {
  const line = hashOf(contents, 'lines').get(String(q))
  const all = line ? (JSON.parse(line.toString('utf8', 25)) as Fields) : {}
  const [space, queue] = (hashOf(contents, 'names').get(`\0${q}`)?.toString() ?? '\0').split('\0') as [
    string,
    string,
  ]
  const said = hashOf(contents, 'limits').get(bytesOf(`${space}\0l\0${queue}\0${lane}`))
  const { declared, changed } = said
    ? (JSON.parse(said.toString()) as Record<'declared' | 'changed', Fields | null>)
    : { declared: null, changed: null }
  const own: Fields = { ...declared, ...changed }
  if (all.strict) return 1
  return (own.concurrency === undefined ? all.laneConcurrency : own.concurrency) ?? NEVER
}
