/**
 * Chains: jobs that run one after the other, each once the previous one is done. The remaining jobs travel in
 * a header of the current one. The call that settles its success also enqueues the next job, with the result,
 * so a chain is one job at any time and nothing is counted or looked up. If a job of a chain is a member of a
 * group, its place passes to the next job: the group counts the completion of the chain, or of the job at
 * which it broke.
 */

import { type ClaimedJob, type NewJob, PLAIN_JOB } from '../jobs/job.ts'
import type { Membership } from './groups.ts'

export const REST_OF_CHAIN = 'skep-chain'
const GIVEN = 'skep-given'

/** Maximum number of jobs in one header: each is rewritten at every step before it. */
export const CHAIN_LENGTH = 20

/**
 * For this long a chain has priority: the worker that settles one of its jobs claims the next at once. After
 * that the next job queues like any other, so no chain delays other jobs for longer.
 */
export const CHAIN_TURN_MS = 1_000

/**
 * Separates the fields of that header: the membership that the jobs inherit (a group, or nothing, and a
 * number), then per job its id, its queue if it differs from that of the previous job, its other non-default
 * fields, and its payload. A step cuts off the first job and passes the rest on unparsed.
 */
const MARK = '\x7f'
const FIELDS = 4

/** The first of these jobs, carrying the others in a header. They share one membership, in turn. */
export function chained(jobs: readonly NewJob[], member: Membership | null): NewJob {
  const [first, ...rest] = jobs as [NewJob, ...NewJob[]]
  if (rest.length === 0) return { ...first, member }
  const carried = rest.map((job, n) => carry(job, (jobs[n] as NewJob).queue))
  const load = [member?.group ?? '', member?.n ?? 0, ...carried].join(MARK)
  return { ...first, member, headers: headersOf(first.headers, load, null) }
}

/** The job that follows a finished one, with its result; null if it is the last, or not in a chain. */
export function nextInChain(
  { headers, space, queue: before }: Pick<ClaimedJob, 'headers' | 'space' | 'queue'>,
  result: string | null,
): NewJob | null {
  const load = loadOf(headers)
  if (load === undefined) return null
  // Cut by hand: split() would also read the rest, at every step.
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
  // Spelled out instead of spread from PLAIN_JOB: this runs for each step of each chain.
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

/** The ids of the remaining jobs of the chain. */
export function heirsOf(headers: string | null): string[] {
  const parts = loadOf(headers)?.split(MARK) ?? []
  return parts.filter((_, at) => at >= 2 && (at - 2) % FIELDS === 0)
}

const BEFORE_REST = `"${REST_OF_CHAIN}":"`
const AFTER_REST = '"}'

const END_OF_TEXT = /[^\\]"/

/** The remaining jobs as they are escaped in the headers, see {@link read}. */
function loadOf(headers: string | null): string | undefined {
  if (headers === null || !headers.includes(REST_OF_CHAIN)) return undefined
  // Inside a JSON string every quotation mark is escaped, so this can only be the name of a header.
  const at = headers.indexOf(BEFORE_REST)
  if (at >= 0 && headers.endsWith(AFTER_REST)) {
    const load = headers.slice(at + BEFORE_REST.length, -AFTER_REST.length)
    if (!END_OF_TEXT.test(load)) return load
  }
  // Another header follows it, or another program wrote the headers.
  const { [REST_OF_CHAIN]: text } = JSON.parse(headers) as Record<string, string | undefined>
  return text === undefined ? undefined : written(text)
}

/** Decodes a part of a load. Only used parts are decoded; the rest is passed on as it is. */
function read(part: string): string {
  return part.includes('\\') ? (JSON.parse(`"${part}"`) as string) : part
}

function written(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Headers without the rest of the chain: a finished job has already passed it on. */
export function unchained(headers: string | null): string | null {
  if (headers === null || !headers.includes(REST_OF_CHAIN)) return headers
  const { [REST_OF_CHAIN]: _rest, ...others } = JSON.parse(headers) as Record<string, string>
  return JSON.stringify(others)
}

/** The result of the previous job in the chain, as JSON text; undefined if there is none. */
export function givenIn(headers: Readonly<Record<string, string>>): string | undefined {
  return headers[GIVEN]
}

const WITH_GIVEN = `{"${GIVEN}":"`

/** The same, if it can be read without parsing all headers. */
export function givenAtFront(headers: string): string | undefined {
  if (!headers.startsWith(WITH_GIVEN)) return undefined
  const given = headers.slice(WITH_GIVEN.length, headers.indexOf('"', WITH_GIVEN.length))
  return given.includes('\\') ? undefined : given
}

/** Headers as shown to users. */
export function withoutChain(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!(REST_OF_CHAIN in headers) && !(GIVEN in headers)) return headers
  const { [REST_OF_CHAIN]: _rest, [GIVEN]: _given, ...others } = headers
  return others
}

/** Puts the given result first and the rest of the chain last: both are found there without parsing. */
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

/** JSON without the separator, which can occur only inside a string and is escaped there. */
function unmarked(json: string): string {
  return json.includes(MARK) ? json.replaceAll(MARK, '\\u007f') : json
}
