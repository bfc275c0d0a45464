import { JOB_STATES, type JobState } from '../../../src/core/job.ts'
import { entryOf, type Invariant, type View } from './view.ts'

/** I-25: the numbers that people see are the numbers of jobs there are. */
export const countsAgree: Invariant = function* (view) {
  const { counts } = view.facts
  if (counts === undefined) return
  const tally = tallyOf(view)
  for (const queue of new Set([...Object.keys(counts), ...tally.keys()])) {
    for (const state of JOB_STATES) {
      const said = counts[queue]?.[state] ?? 0
      const is = tally.get(queue)?.get(state) ?? 0
      if (said === is) continue
      const message = `${said} jobs are said to be ${state}; ${is} are.`
      yield { invariant: 'I-25', kind: 'miscounted', about: queue, message }
    }
  }
}

function tallyOf(view: View): Map<string, Map<JobState, number>> {
  const tally = new Map<string, Map<JobState, number>>()
  for (const { queue, state } of view.final.values()) {
    const states = entryOf(tally, queue, () => new Map<JobState, number>())
    states.set(state, (states.get(state) ?? 0) + 1)
  }
  return tally
}
