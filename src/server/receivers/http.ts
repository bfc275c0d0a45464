import { type Runtime, SkepError } from '../../index.ts'
import type { Caller } from '../../operations/operation.ts'
import type { JsonSchema } from '../../operations/schema/schema.ts'
import { jobsText, NDJSON, SSE } from './frames.ts'
import { jobStream } from './job-stream.ts'
import { readAcks, readBody, readHelds, readNotes, readTexts, readWhole, readWord } from './read-input.ts'
import { LEAST_LEASE_MS, MOST_LEASE_MS, type ReceiverHub } from './receiver-registry.ts'
import { schemas } from './route-schemas.ts'

/** The largest body of acks. */
const BODY_BYTES = 8_388_608
const MOST_POLLED = 1_000
const MOST_WAIT_MS = 60_000
const LEASE_MS = 30_000
const CREDITS = 100

/** One address that programs in any language use to take jobs. All of them need the scope `work`. */
export interface ReceiverRoute {
  readonly method: 'POST'
  /** Below `/api/v1`; the words after a colon come as `params`. */
  readonly path: string
  readonly summary: string
  readonly scope: 'work'
  readonly request: JsonSchema
  readonly response: JsonSchema
  /** What the answer is: JSON, or a stream of such. */
  readonly contentTypes: readonly string[]
  /** Throws a `SkepError` if it refuses. The stream it answers with must be cancelled when its reader goes. */
  handle(request: Request, caller: Caller, params: Readonly<Record<string, string>>): Promise<Response>
}

/** How jobs are taken over HTTP: a stream of them with acks beside it, or long polls. */
export function receiverRoutes(hub: ReceiverHub, runtime: Runtime): readonly ReceiverRoute[] {
  const json = ['application/json']
  return [
    {
      method: 'POST',
      path: '/receive',
      summary: 'Streams jobs to a receiver for as long as it reads.',
      scope: 'work',
      request: schemas.receive,
      response: schemas.frame,
      contentTypes: ['application/x-ndjson', 'text/event-stream'],
      handle: async (request, caller) => {
        const body = await readBody(request, BODY_BYTES)
        const isSse = request.headers.get('accept')?.includes('text/event-stream') === true
        const framing = isSse ? SSE : NDJSON
        // How many are too many is judged by the hub, for every way in alike.
        const credits = { least: 1, most: Number.MAX_SAFE_INTEGER, otherwise: CREDITS }
        const options = { caller, ...whatOf(body), credits: readWhole(body['credits'], 'credits', credits) }
        const stream = await jobStream(hub, options, framing, runtime, request.signal)
        return new Response(stream, {
          headers: {
            'content-type': framing.contentType,
            'cache-control': 'no-store',
            'x-accel-buffering': 'no',
          },
        })
      },
    },
    {
      method: 'POST',
      path: '/receivers/:id/ack',
      summary: 'Ends jobs of a stream, and sets how many it may hold.',
      scope: 'work',
      request: schemas.ack,
      response: schemas.acked,
      contentTypes: json,
      handle: async (request, caller, { id = '' }) => {
        const body = await readBody(request, BODY_BYTES)
        const acks = readAcks(body['acks'] ?? [])
        const notes = readNotes(body['notes'])
        const credits = readWhole(body['credits'], 'credits', { least: 0, most: 100_000, otherwise: 0 })
        // A stream that has ended meanwhile is no reason to refuse: the tokens tell whose the jobs are.
        if (credits > 0) hub.find(caller, id)?.grant(credits)
        if (notes.length > 0) await hub.note(caller, notes)
        return answer(await hub.settle(caller, acks))
      },
    },
    {
      method: 'POST',
      path: '/poll',
      summary: 'Takes some jobs, waiting for the first of them if there are none.',
      scope: 'work',
      request: schemas.poll,
      response: schemas.polled,
      contentTypes: json,
      handle: async (request, caller) => {
        const body = await readBody(request, BODY_BYTES)
        const { signal } = request
        const jobs = await hub.poll({
          caller,
          ...whatOf(body),
          max: readWhole(body['max'], 'max', { least: 1, most: MOST_POLLED, otherwise: 1 }),
          waitMs: readWhole(body['waitMs'], 'waitMs', { least: 0, most: MOST_WAIT_MS, otherwise: 0 }),
          leaseMs: leaseOf(body),
          signal,
        })
        const { text, unreadable } = jobsText(jobs)
        if (unreadable.length > 0) void hub.settle(caller, unreadable)
        if (signal.aborted) {
          // Nobody reads the answer, so nobody has them.
          void hub.settle(
            caller,
            jobs.map(({ id, token }) => ({ id, token, handBack: true })),
          )
          throw new SkepError('REQUEST_INVALID', 'The caller has gone.')
        }
        return jsonText(`{"jobs":${text}}`)
      },
    },
    {
      method: 'POST',
      path: '/settle',
      summary: 'Ends jobs by their tokens, polled or streamed, from this server or another.',
      scope: 'work',
      request: schemas.settle,
      response: schemas.acked,
      contentTypes: json,
      handle: async (request, caller) => {
        const body = await readBody(request, BODY_BYTES)
        const acks = readAcks(body['acks'] ?? [])
        const notes = readNotes(body['notes'])
        if (notes.length > 0) await hub.note(caller, notes)
        return answer(await hub.settle(caller, acks))
      },
    },
    {
      method: 'POST',
      path: '/extend',
      summary: 'Keeps polled jobs for longer.',
      scope: 'work',
      request: schemas.extend,
      response: schemas.extended,
      contentTypes: json,
      handle: async (request, caller) => {
        const body = await readBody(request, BODY_BYTES)
        return answer({ results: await hub.extend(caller, readHelds(body['jobs']), leaseOf(body)) })
      },
    },
  ]
}

function whatOf(body: Readonly<Record<string, unknown>>): {
  readonly queues: readonly string[]
  readonly keys?: string
  readonly name?: string
} {
  const keys = readWord(body['keys'], 'keys')
  const name = readWord(body['name'], 'name')
  return {
    queues: readTexts(body['queues'], 'queues'),
    ...(keys === undefined ? {} : { keys }),
    ...(name === undefined ? {} : { name }),
  }
}

function leaseOf(body: Readonly<Record<string, unknown>>): number {
  return readWhole(body['leaseMs'], 'leaseMs', {
    least: LEAST_LEASE_MS,
    most: MOST_LEASE_MS,
    otherwise: LEASE_MS,
  })
}

function answer(value: unknown): Response {
  return jsonText(JSON.stringify(value))
}

function jsonText(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } })
}
