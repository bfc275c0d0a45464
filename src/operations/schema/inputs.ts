import {
  BULK_ACTIONS,
  type BulkAction,
  type Duration,
  JOB_STATES,
  type JobState,
  type PriorityMode,
  SkepError,
} from '../../index.ts'
import {
  flag,
  list,
  moment,
  type OptionalSchema,
  object,
  oneOf,
  optional,
  type Schema,
  type TypeOf,
  text,
  whole,
} from './schema.ts'

/**
 * What a caller may do. `read` looks, `operate` changes jobs, holds, schedules and runs, `admin` also blocks, issues tokens and
 * reads the audit log; `enqueue` and `work` are for programs. `read`, `operate` and `admin` each include the ones before.
 */
export const SCOPES = ['enqueue', 'work', 'read', 'operate', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export const RANGES = ['15m', '1h', '6h', '24h', '7d'] as const
export type Range = (typeof RANGES)[number]

export const JOB_ACTIONS = [
  'retry',
  'cancel',
  'bury',
  'promote',
  'reschedule',
  'remove',
  'prioritize',
] as const
export type JobAction = (typeof JOB_ACTIONS)[number]

/** An empty object: the operation takes nothing, or returns nothing. */
export type Nothing = Readonly<Record<never, never>>

/** Schemas of inputs that several operations share. */

export const nothing: Schema<Nothing> = object({})

export const id = (what: string): Schema<string> => text({ min: 1, max: 256, about: `The id of ${what}.` })

export const queueName: Schema<string> = text({ min: 1, max: 128, about: 'The name of a queue.' })

export const queuePattern: Schema<string> = text({
  min: 1,
  max: 128,
  about: 'The name of a queue, or a pattern in which * matches any characters.',
})

export const laneName: Schema<string> = text({
  max: 512,
  about: 'The key of a lane; empty for jobs without a key.',
})

export const reason: Schema<string> = text({ max: 4_096, about: 'The reason, shown to operators.' })

export const duration: Schema<string> = text({
  min: 1,
  max: 32,
  about: 'A number with a unit: 250ms, 30s, 5m, 2h, 7d.',
})

/** A query that is stored and not executed. */
export const queryText: Schema<string> = text({ max: 16_384, about: 'A query in the query language.' })

export const matchingQuery: Schema<string> = { ...queryText, matches: 'query' }

export const range: Schema<Range> = oneOf(RANGES, 'The time range.')

export const state: Schema<JobState> = oneOf(JOB_STATES)

export const action: Schema<JobAction> = oneOf(JOB_ACTIONS)

export const bulkAction: Schema<BulkAction> = oneOf(BULK_ACTIONS)

/** Filters of jobs beside a query; all that are given must match. */
export const filters = {
  states: optional(list(state, { max: JOB_STATES.length })),
  text: optional({
    ...text({ max: 1_024, about: 'Only jobs with this string in the payload or the failure.' }),
    matches: 'content',
  } as Schema<string>),
  after: optional(moment('Only jobs that were due, started or finished at or after this time.')),
  before: optional(moment('Only jobs that were due, started or finished before this time.')),
} as const
const filterInput = object(filters)

/** The filters as the library takes them. */
export function filterOf({ states, text: words, after, before }: TypeOf<typeof filterInput>): {
  readonly state?: readonly JobState[]
  readonly text?: string
  readonly after?: Date
  readonly before?: Date
} {
  return {
    ...(states === undefined ? {} : { state: states }),
    ...(words === undefined ? {} : { text: words }),
    ...(after === undefined ? {} : { after: new Date(after) }),
    ...(before === undefined ? {} : { before: new Date(before) }),
  }
}

/** The filters in words, for the audit log. */
export function filterWords({ states = [], text: words, after, before }: TypeOf<typeof filterInput>): string {
  const parts = [
    ...states,
    ...(words === undefined ? [] : [`with ${JSON.stringify(words)}`]),
    ...(after === undefined ? [] : [`since ${after}`]),
    ...(before === undefined ? [] : [`before ${before}`]),
  ]
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

/** For `prioritize`. */
export const priorityMode: Schema<PriorityMode> = oneOf(
  ['head-start', 'strict'],
  'How the queue counts priorities. Default: as its workers declare it.',
)

/** For `reschedule`. */
export const at: Schema<string> = moment('When the jobs are due. A past time means now.')

export const priority: Schema<number> = whole({
  min: -100,
  max: 100,
  about: 'Higher priorities start earlier.',
})

/** The fields of every paged list. */
export const paged: {
  readonly limit: OptionalSchema<number>
  readonly cursor: OptionalSchema<string>
} = {
  limit: optional(whole({ min: 1, max: 200, about: 'Page size. Default: 50.' })),
  cursor: optional(text({ max: 4_096, about: 'The cursor of the previous page.' })),
}

const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d|w)$/

/** A duration of an input. */
export function durationOf(path: string, text: string): Duration {
  if (DURATION.test(text)) return text as Duration
  throw new SkepError('OPTION_INVALID', `${path} must be a number with a unit: 250ms, 30s, 5m, 2h, 7d.`, {
    facts: { path },
  })
}

/** What a hold or a release applies to. */
export const holdTarget = {
  queue: optional(queuePattern),
  lane: optional(laneName),
  everywhere: optional(flag('In every space. Requires a credential for every space.')),
} as const
const holdTargetInput = object(holdTarget)
export type HoldTargetInput = TypeOf<typeof holdTargetInput>

export const newToken = object({
  name: text({ min: 1, max: 128, about: 'The name of its holder in the audit log.' }),
  scopes: list(oneOf(SCOPES), { min: 1, max: SCOPES.length }),
  space: optional(text({ min: 1, max: 128 })),
  queues: optional(
    list(text({ min: 1, max: 128 }), { min: 1, max: 100, about: 'Names or patterns. Default: all queues.' }),
  ),
  payloads: optional(flag('Whether it may see payloads, results and logs.')),
  expires: optional(duration),
})
export type NewToken = TypeOf<typeof newToken>

export const auditQuery = object({
  ...paged,
  who: optional(text({ max: 128 })),
  what: optional(text({ max: 64, about: 'The name of an operation.' })),
})
export type AuditQuery = TypeOf<typeof auditQuery>
