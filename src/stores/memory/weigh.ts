import { weightOf } from '../../core/weight.ts'
import type { WeighCall, WeighReply } from '../../store.ts'
import type { Jobs } from './jobs.ts'
import { list } from './list.ts'

/** How much one page of a list weighs. */
export function weigh({ table, notes }: Jobs, call: WeighCall): WeighReply {
  const { jobs, cursor } = list(table, call)
  const bytes = jobs.reduce((sum, job) => sum + weightOf(job) + notes.weight(job), 0)
  return { jobs: jobs.length, bytes, cursor }
}
