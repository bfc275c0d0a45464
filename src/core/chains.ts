/**
 * Chains: jobs one after the other, each when the one before it is done. Those that are to come travel with the one that is
 * there, in a header. Whoever settles its success enqueues the next one in that very call, with what this one gave; so a
 * chain is one job at any time, and nothing has to be counted or looked up. A job of a chain that is a member of a group
 * hands its place on to the next: the group hears of the end of the chain, or of the job at which it broke.
 */
import type { Membership } from './groups.ts'
import { type ClaimedJob, type NewJob, PLAIN_JOB } from './job.ts'

export const REST_OF_CHAIN = 'skep-chain'
const GIVEN = 'skep-given'

/** So many jobs travel in one header at most: each is written anew with every step that is before it. */
export const CHAIN_LENGTH = 20

/**
 * A job as it travels: its id in base64, its payload, its queue if that is another than that of the job before it, and
 * what else is unusual about it. Every byte of it is written again with each step.
 */
type Carried = readonly [id: string, payload: unknown, queue?: string | null, more?: Partial<NewJob>]

/** Whose place they take one after the other, and the jobs. */
type Load = readonly [group: string | null, n: number, ...jobs: Carried[]]

/** The first of these jobs, which brings the others after it. All are the same member of a group, one after the other. */
export function chained(jobs: readonly NewJob[], member: Membership | null): NewJob {
  const [first, ...rest] = jobs as [NewJob, ...NewJob[]]
  const carried = rest.map((job, n) => carry(job, (jobs[n] as NewJob).queue))
  return loaded({ ...first, member }, [member?.group ?? null, member?.n ?? 0, ...carried], null)
}

/** The job that follows one that is done, with what that gave; null if it is the last, or in no chain. */
export function nextInChain(
  { headers, space, queue: before }: Pick<ClaimedJob, 'headers' | 'space' | 'queue'>,
  result: string | null,
): NewJob | null {
  if (headers === null || !headers.includes(REST_OF_CHAIN)) return null
  const { [REST_OF_CHAIN]: text } = JSON.parse(headers) as Record<string, string | undefined>
  if (text === undefined) return null
  const [group, n, next, ...rest] = JSON.parse(text) as Load
  if (next === undefined) return null
  const [id, payload, queue, more] = next
  const job: NewJob = {
    ...PLAIN_JOB,
    id: idOf(id),
    space,
    queue: queue ?? before,
    payload: JSON.stringify(payload),
    ...more,
    member: group === null ? null : { group, n },
  }
  return loaded(job, [group, n, ...rest], result ?? 'null')
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

/** Headers as people see them. */
export function withoutChain(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!(REST_OF_CHAIN in headers) && !(GIVEN in headers)) return headers
  const { [REST_OF_CHAIN]: _rest, [GIVEN]: _given, ...others } = headers
  return others
}

function loaded(job: NewJob, load: Load, given: string | null): NewJob {
  const isLast = load.length === 2
  if (isLast && given === null) return job
  const headers = job.headers === null ? {} : (JSON.parse(job.headers) as Record<string, string>)
  return {
    ...job,
    headers: JSON.stringify({
      ...headers,
      ...(!isLast && { [REST_OF_CHAIN]: JSON.stringify(load) }),
      ...(given !== null && { [GIVEN]: given }),
    }),
  }
}

function carry({ id, space: _space, queue, payload, ...rest }: NewJob, before: string): Carried {
  const unusual = Object.entries(rest).filter(
    ([name, value]) => PLAIN_JOB[name as keyof typeof PLAIN_JOB] !== value,
  )
  const short = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')
  const carried = [short, JSON.parse(payload) as unknown] as const
  if (unusual.length > 0) return [...carried, queue === before ? null : queue, Object.fromEntries(unusual)]
  return queue === before ? carried : [...carried, queue]
}

function idOf(short: string): string {
  const hex = Buffer.from(short, 'base64url').toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
