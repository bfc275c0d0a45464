import type { AuditEntry, Violation } from '../history.ts'
import { generationOf } from './fencing.ts'
import { commanded, ends, type Invariant, type JobView, retries, type View } from './view.ts'

/** I-6 and I-7: what has ended stays ended until somebody retries it, and then it is a new generation. */
export const endIsFinal: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    for (const entry of job.audit) yield* left(view, job, entry)
    yield* insertedAgain(job)
    yield* startedAgain(view, job)
  }
}

function* left(view: View, job: JobView, entry: AuditEntry): ReturnType<Invariant> {
  const { before, after } = entry
  if (before === null || after === null || !ends(before.state)) return
  if (after.state === before.state && after.generation === before.generation) return
  if (retries(entry) && commanded(view, job, 'retry', entry)) return
  const why = retries(entry) ? 'nobody retried it' : 'its generation is the same'
  const message = `It went from ${before.state} to ${after.state}, although ${why}.`
  yield before.state === 'done' && !ends(after.state)
    ? redelivered(job.id, message)
    : { invariant: 'I-7', kind: 'terminal-left', about: job.id, message }
}

function* insertedAgain({ id, audit }: JobView): ReturnType<Invariant> {
  let wasThere = false
  for (const { before, after } of audit) {
    if (before === null && wasThere) yield redelivered(id, 'It was inserted again after it had left.')
    wasThere ||= after === null || ends(after.state)
  }
}

function* startedAgain(view: View, job: JobView): ReturnType<Invariant> {
  for (const told of job.told) {
    if (told.event !== 'finished' || told.token === null) continue
    const generation = generationOf(view, job.id, told.token)
    const again = job.starts.find(
      (start) => start.generation === generation && view.order.follows(start, told),
    )
    if (again) {
      yield redelivered(
        job.id,
        `A handler in ${again.proc} started it after generation ${generation} had finished.`,
      )
    }
  }
}

function redelivered(about: string, message: string): Violation {
  return { invariant: 'I-6', kind: 'redelivered-after-ack', about, message }
}
