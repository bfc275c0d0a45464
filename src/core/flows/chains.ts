/**
 * Chains: jobs one after the other, each when the one before it is done. Those that are to come travel with the one that is
 * there, in a header. Whoever settles its success enqueues the next one in that very call, with what this one gave; so a
 * chain is one job at any time, and nothing has to be counted or looked up. A job of a chain that is a member of a group
 * hands its place on to the next: the group hears of the end of the chain, or of the job at which it broke.
 */

import { type ClaimedJob, type NewJob, PLAIN_JOB } from '../jobs/job.ts'
import type { Membership } from './groups.ts'

export const REST_OF_CHAIN = 'skep-chain'
const GIVEN = 'skep-given'

/** So many jobs travel in one header at most: each is written anew with every step that is before it. */
export const CHAIN_LENGTH = 20

/**
 * For so long a chain has its turn: who settles one of its jobs takes the next at once, before all that waits. Then the
 * next one stands in line like others, so that no chain keeps anybody waiting for longer than this.
 */
export const CHAIN_TURN_MS = 1_000

/**
 * Stands between the parts of that header: whose place the jobs take one after the other (a group, or nothing, and a number),
 * and of each job its id, its queue if that is another than that of the job before it, what else is unusual about it, and
 * its payload. So the first is cut off and the rest goes on as it is: with every step, that is all there is to read.
 */
const MARK = '\x7f'
const FIELDS = 4

/** The first of these jobs, which brings the others after it. All are the same member of a group, one after the other. */
export function chained(jobs: readonly NewJob[], member: Membership | null): NewJob {
  const [first, ...rest] = jobs as [NewJob, ...NewJob[]]
  if (rest.length === 0) return { ...first, member }
  const carried = rest.map((job, n) => carry(job, (jobs[n] as NewJob).queue))
  const load = [member?.group ?? '', member?.n ?? 0, ...carried].join(MARK)
  return { ...first, member, headers: headersOf(first.headers, load, null) }
}

/** The job that follows one that is done, with what that gave; null if it is the last, or in no chain. */
export function nextInChain(
  { headers, space, queue: before }: Pick<ClaimedJob, 'headers' | 'space' | 'queue'>,
  result: string | null,
): NewJob | null {
  const load = loadOf(headers)
  if (load === undefined) return null
  // Cut by hand: to split all of it would read the rest as well, and this is done with every step.
  const afterGroup = load.indexOf(MARK)
  const place = load.indexOf(MARK, afterGroup + 1) + 1
  const afterId = load.indexOf(MARK, place)
  const afterQueue = load.indexOf(MARK, afterId + 1)
  const afterMore = load.indexOf(MARK, afterQueue + 1)
  const end = load.indexOf(MARK, afterMore + 1)
  const queue = load.slice(afterId + 1, afterQueue)
  const more = load.slice(afterQueue + 1, afterMore)
  const payload = end < 0 ? load.slice(afterMore + 1) : load.slice(afterMore + 1, end)
  const rest = end < 0 ? null : load.slice(0, place) + load.slice(end + 1)
  const { headers: own = null, ...unusual } =
    more === '' ? NOTHING : (JSON.parse(read(more)) as Partial<NewJob>)
  // What is usual stands here again, as in PLAIN_JOB, instead of being copied from there: it is made for each step of each chain.
  const next: NewJob = {
    id: load.slice(place, afterId),
    space,
    queue: queue === '' ? before : read(queue),
    payload: read(payload),
    headers: headersOf(own, rest, result ?? 'null'),
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member:
      afterGroup === 0
        ? null
        : { group: load.slice(0, afterGroup), n: Number(load.slice(afterGroup + 1, place - 1)) },
  }
  return more === '' ? next : { ...next, ...unusual }
}

const NOTHING: Partial<NewJob> = {}

/** The ids of the jobs that come after one. */
export function heirsOf(headers: string | null): string[] {
  const parts = loadOf(headers)?.split(MARK) ?? []
  return parts.filter((_, at) => at >= 2 && (at - 2) % FIELDS === 0)
}

const BEFORE_REST = `"${REST_OF_CHAIN}":"`
const AFTER_REST = '"}'

const END_OF_TEXT = /[^\\]"/

/** What comes after a job, as it is written in the headers, see {@link read}. */
function loadOf(headers: string | null): string | undefined {
  if (headers === null || !headers.includes(REST_OF_CHAIN)) return undefined
  // Within a text there is a backslash before every quotation mark, so this can be nothing but the name of a header.
  const at = headers.indexOf(BEFORE_REST)
  if (at >= 0 && headers.endsWith(AFTER_REST)) {
    const load = headers.slice(at + BEFORE_REST.length, -AFTER_REST.length)
    if (!END_OF_TEXT.test(load)) return load
  }
  // Another one follows it, or somebody else wrote them.
  const { [REST_OF_CHAIN]: text } = JSON.parse(headers) as Record<string, string | undefined>
  return text === undefined ? undefined : written(text)
}

/** A part of a load. Only what is used is read; the rest is passed on as it is written. */
function read(part: string): string {
  return part.includes('\\') ? (JSON.parse(`"${part}"`) as string) : part
}

function written(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Headers without what comes after the job: one that was done has handed it on, and does not do so again. */
export function unchained(headers: string | null): string | null {
  if (headers === null || !headers.includes(REST_OF_CHAIN)) return headers
  const { [REST_OF_CHAIN]: _rest, ...others } = JSON.parse(headers) as Record<string, string>
  return JSON.stringify(others)
}

/** What the job before it in its chain gave, as JSON text; undefined if there is none. */
export function givenIn(headers: Readonly<Record<string, string>>): string | undefined {
  return headers[GIVEN]
}

const WITH_GIVEN = `{"${GIVEN}":"`

/** The same if it can be seen without reading all of the headers. */
export function givenAtFront(headers: string): string | undefined {
  if (!headers.startsWith(WITH_GIVEN)) return undefined
  const given = headers.slice(WITH_GIVEN.length, headers.indexOf('"', WITH_GIVEN.length))
  return given.includes('\\') ? undefined : given
}

/** Headers as people see them. */
export function withoutChain(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!(REST_OF_CHAIN in headers) && !(GIVEN in headers)) return headers
  const { [REST_OF_CHAIN]: _rest, [GIVEN]: _given, ...others } = headers
  return others
}

/** Headers with what was given first, and what comes after last: there they are found without reading all. */
function headersOf(own: string | null, load: string | null, given: string | null): string {
  const first = given === null ? '' : `"${GIVEN}":${JSON.stringify(given)}`
  const last = load === null ? '' : `${BEFORE_REST}${load}"`
  if (own === null) return first !== '' && last !== '' ? `{${first},${last}}` : `{${first}${last}}`
  const parts = [first, ...othersIn(own), last]
  return `{${parts.filter((part) => part !== '').join(',')}}`
}

function othersIn(own: string): string[] {
  const { [GIVEN]: _given, [REST_OF_CHAIN]: _rest, ...others } = JSON.parse(own) as Record<string, string>
  return Object.entries(others).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
}

function carry({ id, space: _space, queue, payload, ...rest }: NewJob, before: string): string {
  const unusual: Record<string, unknown> = queue.includes(MARK) ? { queue } : {}
  for (const [name, value] of Object.entries(rest)) {
    if (PLAIN_JOB[name as keyof typeof PLAIN_JOB] !== value) unusual[name] = value
  }
  const more = Object.keys(unusual).length === 0 ? '' : written(unmarked(JSON.stringify(unusual)))
  const named = queue === before || queue.includes(MARK) ? '' : written(queue)
  return [id, named, more, written(unmarked(payload))].join(MARK)
}

/** JSON in which the mark does not occur: it can be only within a string, where it may be written so. */
function unmarked(json: string): string {
  return json.includes(MARK) ? json.replaceAll(MARK, '\\u007f') : json
}
