import { type Duration, FINAL_STATES, type JobEvent, type JobState, SkepError, toMs } from '../../index.ts'
import type { WireJob } from '../../operations/schema/outputs.ts'
import type { Wire } from '../../operations/schema/serialize.ts'
import type { ServerClient } from '../../server.ts'

const RECONNECT_MS = 500

/** The events of a job until it has ended. Reconnects when the stream is interrupted. */
export async function* watchJob(
  client: ServerClient,
  id: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<Wire<JobEvent>, void, void> {
  let place = 0
  let state: JobState | null = null
  while (state === null || !isFinal(state)) {
    try {
      for await (const received of client.watch(id, signal === undefined ? {} : { signal })) {
        const event = received as Wire<JobEvent>
        if (event.kind === 'state') {
          if (event.state === state) continue
          state = event.state
        } else if (event.kind === 'log') {
          // A new stream repeats all lines.
          if (event.place <= place) continue
          place = event.place
        }
        yield event
      }
      // The stream also ends when the job is removed.
      if (state === null || !isFinal(state)) await client.call('jobs.get', { id })
    } catch (error) {
      if (signal?.aborted || !isTransient(error)) throw error
    }
    if (state === null || !isFinal(state)) await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS))
  }
}

/** The result of a job, once it is done. */
export async function resultOf(
  client: ServerClient,
  id: string,
  timeout: Duration | undefined,
): Promise<unknown> {
  const end = timeout === undefined ? undefined : AbortSignal.timeout(toMs('timeout', timeout))
  let last: WireJob | null = null
  try {
    for await (const event of watchJob(client, id, end === undefined ? {} : { signal: end })) {
      if (event.kind === 'state') last = event.job
    }
  } catch (error) {
    if (!end?.aborted) throw error
    throw new SkepError('RESULT_TIMEOUT', `Job "${id}" did not end within ${timeout}. It continues.`, {
      facts: { id },
    })
  }
  if (last?.state === 'done') return last.result
  const { state = 'removed', failure = null } = last ?? {}
  const code = state === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED'
  throw new SkepError(code, `Job "${id}" is ${state}: ${failure?.message ?? state}`, {
    facts: { id, state, failure },
  })
}

function isFinal(state: JobState): boolean {
  return (FINAL_STATES as readonly JobState[]).includes(state)
}

/** Whether a retry may succeed. */
function isTransient(error: unknown): boolean {
  return error instanceof SkepError && ['STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'CLOSED'].includes(error.code)
}
