import { type Duration, JOB_STATES, type JobState, SkepError } from '../../index.ts'
import { moment, type OptionalSchema, object, oneOf, optional, type Schema, text, whole } from './schema.ts'
import {
  BULK_ACTIONS,
  type BulkAction,
  JOB_ACTIONS,
  type JobAction,
  type Nothing,
  RANGES,
  type Range,
} from './wire-types.ts'

/** Schemas of what several operations take. */

export const nothing: Schema<Nothing> = object({})

export const id = (what: string): Schema<string> => text({ min: 1, max: 256, about: `The id of ${what}.` })

export const queueName: Schema<string> = text({ min: 1, max: 128, about: 'The name of a queue.' })

export const queuePattern: Schema<string> = text({
  min: 1,
  max: 128,
  about: 'The name of a queue, or a pattern in which * stands for anything.',
})

export const laneName: Schema<string> = text({
  max: 512,
  about: 'The key of a lane; empty: that of jobs without one.',
})

export const reason: Schema<string> = text({ max: 4_096, about: 'Why, for whoever looks.' })

export const duration: Schema<string> = text({
  min: 1,
  max: 32,
  about: 'A number with a unit: 250ms, 30s, 5m, 2h, 7d.',
})

/** A query that is kept, and not asked. */
export const queryText: Schema<string> = text({ max: 16_384, about: 'Which jobs, in the query language.' })

export const matchingQuery: Schema<string> = { ...queryText, matches: 'query' }

export const range: Schema<Range> = oneOf(RANGES, 'How far back.')

export const state: Schema<JobState> = oneOf(JOB_STATES)

export const action: Schema<JobAction> = oneOf(JOB_ACTIONS)

export const bulkAction: Schema<BulkAction> = oneOf(BULK_ACTIONS)

/** For `reschedule`. */
export const at: Schema<string> = moment('When they are due. One that is over means now.')

export const priority: Schema<number> = whole({ min: -100, max: 100, about: 'Higher starts earlier.' })

/** The fields of every list that has pages. */
export const paged: {
  readonly limit: OptionalSchema<number>
  readonly cursor: OptionalSchema<string>
} = {
  limit: optional(whole({ min: 1, max: 200, about: 'At most so many; 50 if it is not said.' })),
  cursor: optional(text({ max: 4_096, about: 'From the page before.' })),
}

const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d|w)$/

/** A duration of an input. The path is in the error, as everywhere. */
export function durationOf(path: string, text: string): Duration {
  if (DURATION.test(text)) return text as Duration
  throw new SkepError('OPTION_INVALID', `${path} must be a number with a unit: 250ms, 30s, 5m, 2h, 7d.`, {
    facts: { path },
  })
}
