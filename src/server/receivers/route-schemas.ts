/** What receivers send and get over HTTP, for the OpenAPI document. `read-input.ts` holds them to it. */
import type { JsonSchema } from '../../operations/schema/schema.ts'

const text: JsonSchema = { type: 'string' }
const whole: JsonSchema = { type: 'integer', minimum: 0 }

function object(properties: JsonSchema, required: readonly string[], description?: string): JsonSchema {
  return { type: 'object', properties, required, ...(description === undefined ? {} : { description }) }
}

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

function about(description: string, schema: JsonSchema): JsonSchema {
  return { ...schema, description }
}

const queues = about('Names, or patterns in which * stands for anything.', {
  ...list(text),
  minItems: 1,
  maxItems: 1_000,
})
const keys = about('Only lanes whose keys are in this range, such as -80 or 80-.', text)
const name = about('How it is called in the dashboard.', { ...text, maxLength: 128 })
const leaseMs = about('How long they are leased.', {
  type: 'integer',
  minimum: 1_000,
  maximum: 3_600_000,
  default: 30_000,
})
const token = about('As it came with the job.', text)
const unsaved: JsonSchema = { type: 'string', enum: ['lost', 'gone', 'unknown'] }
const status: JsonSchema = { type: 'string', enum: ['ok', 'lost', 'gone', 'unknown'] }

const job = object(
  {
    id: { type: 'string', format: 'uuid' },
    queue: text,
    payload: {},
    attempt: about('Which run of the job this is, from 1.', whole),
    token: about('Has to come back with the ack.', text),
    headers: { type: 'object', additionalProperties: text },
    lane: { type: ['string', 'null'] },
    enqueuedAtMs: about('Milliseconds since 1970.', whole),
    timeoutMs: about('How long it may take; null: as long as it likes.', { type: ['integer', 'null'] }),
    results: about(
      'What became of the jobs that it follows, in a chain or after a group; null: it is too large to be sent along.',
      {
        type: ['array', 'null'],
        items: object(
          {
            ok: { type: 'boolean' },
            result: {},
            state: text,
            failure: object({ message: text }, ['message']),
          },
          ['ok'],
        ),
      },
    ),
  },
  ['id', 'queue', 'payload', 'attempt', 'token', 'headers', 'lane', 'enqueuedAtMs', 'timeoutMs', 'results'],
)

const ack = object(
  {
    id: text,
    token,
    done: about('The result. With none of the fields below it either, the job is done without one.', {}),
    failed: object(
      {
        message: text,
        name: text,
        stack: text,
        retryInMs: about('Again after this, instead of what the policy says.', whole),
      },
      ['message'],
      'It failed, and the policy of its queue says what comes next.',
    ),
    snooze: object({ delayMs: whole, reason: text }, ['delayMs'], 'Again later; counts as no failure.'),
    bury: about('Among the dead, whatever the policy says: the reason.', text),
    cancel: about('Ended as cancelled: the reason.', text),
    handBack: about('Not begun: somebody else shall have it.', { type: 'boolean' }),
  },
  ['id', 'token'],
)

const note = object(
  {
    id: text,
    token,
    progress: { type: 'number' },
    progressNote: text,
    lines: list(
      object(
        { level: { type: 'string', enum: ['debug', 'info', 'warn', 'error'] }, message: text, fields: {} },
        ['message'],
      ),
    ),
  },
  ['id', 'token'],
)

const stop = object(
  {
    id: text,
    token,
    reason: { type: 'string', enum: ['cancelled', 'timeout', 'lost', 'stopping'] },
    detail: text,
  },
  ['id', 'token', 'reason', 'detail'],
)

type SchemaName = 'receive' | 'frame' | 'ack' | 'acked' | 'poll' | 'polled' | 'settle' | 'extend' | 'extended'

export const schemas: Readonly<Record<SchemaName, JsonSchema>> = {
  receive: object(
    {
      queues,
      keys,
      name,
      credits: about('How many jobs it may hold. Each ack makes room for another.', {
        type: 'integer',
        minimum: 1,
        default: 100,
      }),
    },
    ['queues'],
  ),
  frame: object(
    {
      hello: object({ receiver: about('Names this stream in the address of its acks.', text) }, ['receiver']),
      jobs: list(job),
      stop: about('Jobs that shall end.', list(stop)),
      ping: object({}, []),
      end: object({ reason: text }, ['reason'], 'The last one, if the server ends the stream.'),
    },
    [],
    'One line each, with one of these keys.',
  ),
  ack: object(
    { acks: list(ack), credits: about('From now on; 0 leaves it as it is.', whole), notes: list(note) },
    ['acks'],
  ),
  acked: object(
    {
      saved: about('How many were saved.', whole),
      results: about(
        'Those that were not, and why.',
        list(object({ id: text, status: unsaved }, ['id', 'status'])),
      ),
    },
    ['saved', 'results'],
  ),
  poll: object(
    {
      queues,
      keys,
      name,
      max: { type: 'integer', minimum: 1, maximum: 1_000, default: 1 },
      waitMs: about('How long to wait for the first of them.', {
        type: 'integer',
        minimum: 0,
        maximum: 60_000,
        default: 0,
      }),
      leaseMs,
    },
    ['queues'],
  ),
  polled: object({ jobs: list(job) }, ['jobs']),
  settle: object({ acks: list(ack), notes: list(note) }, ['acks']),
  extend: object({ jobs: list(object({ id: text, token }, ['id', 'token'])), leaseMs }, ['jobs']),
  extended: object(
    {
      results: list(
        object({ id: text, status, cancelReason: { type: ['string', 'null'] } }, [
          'id',
          'status',
          'cancelReason',
        ]),
      ),
    },
    ['results'],
  ),
} satisfies Readonly<Record<string, JsonSchema>>
