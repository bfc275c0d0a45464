import {
  type Duration,
  FINAL_STATES,
  type JobEvent,
  type JobPage,
  type JobState,
  type JobView,
  SkepError,
  toMs,
  type WatchOptions,
} from '../../index.ts'
import type { Wire } from '../../server.ts'
import type { Line } from './ask.ts'

const AGAIN_MS = 500

/** What happens to a job until it has ended. A stream that breaks off is begun again. */
export async function* watchThere(
  { client, revive }: Line,
  id: string,
  { signal, after = 0 }: WatchOptions = {},
): AsyncGenerator<JobEvent, void, void> {
  let place = after
  let state: JobState | null = null
  while (state === null || !isFinal(state)) {
    try {
      for await (const told of client.watch(id, signal === undefined ? {} : { signal })) {
        const event = told as Wire<JobEvent>
        if (event.kind === 'state') {
          if (event.state === state) continue
          state = event.state
          const page = { jobs: [event.job], cursor: null, searched: 0 }
          const [job] = revive<JobPage>('jobs.list', page).jobs
          yield { kind: 'state', state, job: job as JobView }
        } else if (event.kind === 'progress') yield { ...event, at: new Date(event.at) }
        else if (event.place > place) {
          // A stream that is begun again tells all lines again.
          place = event.place
          yield { ...event, at: new Date(event.at) }
        }
      }
      // It also ends when the job is gone.
      if (state === null || !isFinal(state)) await client.call('jobs.get', { id })
    } catch (error) {
      if (signal?.aborted || !isPassing(error)) throw error
    }
    if (state === null || !isFinal(state)) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** What the handler returned, once it has. */
export async function resultThere(line: Line, id: string, timeout: Duration | undefined): Promise<unknown> {
  const end = timeout === undefined ? undefined : AbortSignal.timeout(toMs('timeout', timeout))
  let last: JobView | null = null
  try {
    for await (const event of watchThere(line, id, end === undefined ? {} : { signal: end })) {
      if (event.kind === 'state') last = event.job
    }
  } catch (error) {
    if (!end?.aborted) throw error
    throw new SkepError('RESULT_TIMEOUT', `Job "${id}" did not end within ${timeout}. It goes on.`, {
      facts: { id },
    })
  }
  if (last?.state === 'done') return last.result
  const { state = 'gone', failure = null } = last ?? {}
  const code = state === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED'
  throw new SkepError(code, `Job "${id}" is ${state}: ${failure?.message ?? state}`, {
    facts: { id, state, failure },
  })
}

function isFinal(state: JobState): boolean {
  return (FINAL_STATES as readonly JobState[]).includes(state)
}

/** Whether it may be over the next time. */
function isPassing(error: unknown): boolean {
  return error instanceof SkepError && ['STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'CLOSED'].includes(error.code)
}
