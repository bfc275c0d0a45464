import { commanded, ends, type Invariant } from './view.ts'

/** I-23: a finished job is kept as long as was said, unless somebody removes it. */
export const keptLongEnough: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    for (const entry of job.audit) {
      const { at, before, after } = entry
      if (after !== null || !before || !ends(before.state) || before.expiresAt == null) continue
      const ms = before.expiresAt - at
      if (ms <= view.facts.slackMs || commanded(view, job, 'remove', entry)) continue
      const message = `It was removed ${ms} ms before its retention was over.`
      yield { invariant: 'I-23', kind: 'pruned-early', about: job.id, message }
    }
  }
}
