import { ATTEMPTS_SHOWN, type AttemptKind, isAttemptKind, readAttempt } from '../../core/jobs/attempts.ts'
import { type Failure, isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { LIMITS } from '../../core/limits.ts'
import type { Store } from '../../store/store.ts'
import { readValue } from '../../worker/events.ts'

/** One run of a job that ended badly. */
export interface AttemptView {
  /** Which run it was, from 1; a retry begins anew. */
  readonly n: number
  /** How often the job had been retried by then. */
  readonly generation: number
  readonly at: Date
  /** When it began; null if that is not known. */
  readonly startedAt: Date | null
  /** The id of its worker; null if that is not known. */
  readonly worker: string | null
  /** The version of the program of its worker; null if it has none. */
  readonly version: string | null
  /** The state in which it left the job; null if the job was tried again, or that is not known. */
  readonly ended: JobState | null
  /** Of the first attempt after a retry: when that was, unless the job was rescheduled since. Otherwise null. */
  readonly retriedAt: Date | null
  readonly kind: AttemptKind
  readonly message: string
  readonly name: string | null
  readonly code: string | null
  /** Its beginning, if it is long. */
  readonly stack: string | null
}

/**
 * The runs of a job that ended badly, oldest first: the newest twenty of those whose lines are kept. The last one is known from
 * the job itself if it left no line.
 */
export async function readAttempts(
  store: Pick<Store, 'get' | 'notes'>,
  space: string,
  id: string,
): Promise<readonly AttemptView[]> {
  const [{ jobs }, { lines }] = await Promise.all([
    store.get({ space, ids: [id] }),
    store.notes({ space, id, after: 0, limit: LIMITS.noteLines }),
  ])
  const attempts = lines.flatMap(({ at, text, fields }): AttemptView[] => {
    const told = readAttempt(fields)
    if (told === null) return []
    const { attempt, generation, kind, name = null, code = null, stack = null } = told
    const { startedAt, dueAt, ended = null, worker = null, version = null } = told
    return [
      {
        n: attempt,
        generation,
        at: new Date(at),
        startedAt: startedAt === undefined ? null : new Date(startedAt),
        worker,
        version,
        ended,
        retriedAt: dueAt === undefined ? null : new Date(dueAt),
        kind,
        message: text,
        name,
        code,
        stack,
      },
    ]
  })
  const last = jobs[0] ? lastOf(jobs[0]) : null
  const isTold = attempts.some((one) => one.n === last?.n && one.generation === last.generation)
  return (last === null || isTold ? attempts : [...attempts, last]).slice(-ATTEMPTS_SHOWN)
}

/** What the job itself says of its latest run. A worker of an older version left no line, nor does one that died after it told something. */
function lastOf(job: Job): AttemptView | null {
  if (job.failure === null || job.starts === 0 || job.state === 'running') return null
  const failure = readValue(job.failure) as Partial<Failure> | null
  const { kind = '', message = '', name = null, code = null, stack = null, version = null } = failure ?? {}
  // Cancelled or buried by hand: no run ended by it.
  if (!isAttemptKind(kind) || kind === 'cancel' || kind === 'bury') return null
  const at = new Date(job.finishedAt ?? job.startedAt ?? job.enqueuedAt)
  const startedAt = job.startedAt === null ? null : new Date(job.startedAt)
  return {
    n: job.starts,
    generation: job.generation,
    at,
    startedAt,
    worker: job.worker,
    version,
    ended: isFinal(job.state) ? job.state : null,
    retriedAt: null,
    kind,
    message,
    name,
    code,
    stack,
  }
}
