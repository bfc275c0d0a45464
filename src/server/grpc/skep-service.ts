import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { SkepError } from '../../index.ts'
import { type Callable, callOperation } from '../call.ts'
import type { Caller } from '../operation.ts'
import { LISTED, type ListedOperation } from '../operations/table.ts'
import type { ReceiverHub } from '../receivers/hub.ts'
import type { Receiver } from '../receivers/receiver.ts'
import { connectError } from './errors.ts'
import {
  AckResponseSchema,
  EnqueueResponseSchema,
  ExtendResponseSchema,
  type Open,
  PollResponseSchema,
  type ReceiveRequest,
  type ReceiveResponse,
  ReceiveResponseSchema,
  type Skep,
} from './gen/skep/v1/skep_pb.ts'
import {
  ackOf,
  ackResultMessage,
  enqueueInput,
  extendedMessage,
  jobMessage,
  noteOf,
  stopMessage,
} from './messages.ts'
import { Outbox } from './outbox.ts'

export interface GrpcEnv extends Callable {
  readonly hub: ReceiverHub
  /** Who asks; throws when nobody may. */
  callerOf(context: HandlerContext): Promise<Caller>
  report(error: unknown): void
}

const ENQUEUE = LISTED.find(({ name }) => name === 'jobs.enqueueMany') as ListedOperation
/** How long to wait for the word that a stream which ended was cut off. */
const CUT_OFF_MS = 20
/** What a poll without a lease gets. */
const POLL_LEASE_MS = 30_000
/** So many bytes may wait to be written to one receiver before it gets no more jobs. */
const OUTBOX_BYTES = 1_048_576

/** How receivers and producers of other languages are served. */
export function skepService(env: GrpcEnv): ServiceImpl<typeof Skep> {
  const { hub } = env
  const { redactor } = env.services

  /** Every method knows its caller, and tells errors in the same words. */
  const asked = async <Answer>(
    context: HandlerContext,
    act: (caller: Caller) => Promise<Answer> | Answer,
  ): Promise<Answer> => {
    try {
      const caller = await env.callerOf(context)
      return await act(caller)
    } catch (error) {
      if (!(error instanceof SkepError)) env.report(error)
      throw connectError(error, redactor)
    }
  }

  return {
    async enqueue({ jobs }, context) {
      return asked(context, async (caller) => {
        const input = { jobs: jobs.map(enqueueInput) }
        const output = await callOperation(env, ENQUEUE, input, { caller, signal: context.signal })
        return create(EnqueueResponseSchema, output as { jobs: { id: string; duplicate: boolean }[] })
      })
    },

    async *receive(requests, context) {
      const caller = await asked(context, (one) => one)
      const incoming = requests[Symbol.asyncIterator]()
      const first = await incoming.next()
      if (first.done === true) return
      const open = first.value.open
      if (open === undefined) {
        throw connectError(
          new SkepError('REQUEST_INVALID', 'The first message of a stream must have `open`.'),
          redactor,
        )
      }
      const stream = await asked(context, () => openStream(hub, caller, open))
      const { outbox, receiver } = stream
      take(receiver, outbox, first.value)
      const reading = read(incoming, receiver, outbox)
      try {
        yield* outbox
      } finally {
        // The other end has read all, or is gone; whichever: what it has not acked is free.
        receiver.close(stream.saidGoodbye ? 'done' : 'gone')
        void reading.catch(() => {})
      }

      async function read(
        rest: AsyncIterator<ReceiveRequest>,
        to: Receiver,
        answers: Outbox<ReceiveResponse>,
      ): Promise<void> {
        try {
          for (let next = await rest.next(); next.done !== true; next = await rest.next())
            take(to, answers, next.value)
          // A stream that is cut off ends like one that was closed; a moment later the signal tells them apart.
          await new Promise<void>((resolve) => env.services.runtime.timer(CUT_OFF_MS, resolve))
          stream.saidGoodbye = !context.signal.aborted
        } finally {
          answers.end()
        }
      }
    },

    async *subscribe(open, context) {
      const caller = await asked(context, (one) => one)
      const { outbox, receiver } = await asked(context, () => openStream(hub, caller, open))
      const end = (): void => outbox.end()
      context.signal.addEventListener('abort', end, { once: true })
      try {
        yield* outbox
      } finally {
        context.signal.removeEventListener('abort', end)
        receiver.close('gone')
      }
    },

    async ack({ receiver: id, acks, credits, notes }, context) {
      return asked(context, async (caller) => {
        const receiver = hub.find(caller, id)
        if (notes.length > 0) await hub.note(caller, notes.map(noteOf))
        // Acks count also when the stream has ended meanwhile: their tokens tell whether they still may.
        const results = await hub.settle(caller, acks.map(ackOf))
        if (credits > 0) receiver?.grant(credits)
        return create(AckResponseSchema, { results: results.map(ackResultMessage) })
      })
    },

    async poll({ name, queues, keys, max, waitMs, leaseMs }, context) {
      return asked(context, async (caller) => {
        const jobs = await hub.poll({
          caller,
          queues,
          max: Math.max(1, max),
          waitMs: Number(waitMs),
          leaseMs: leaseMs === 0n ? POLL_LEASE_MS : Number(leaseMs),
          signal: context.signal,
          ...(name === '' ? {} : { name }),
          ...(keys === '' ? {} : { keys }),
        })
        return create(PollResponseSchema, { jobs: jobs.map(jobMessage) })
      })
    },

    async settle({ acks, notes }, context) {
      return asked(context, async (caller) => {
        if (notes.length > 0) await hub.note(caller, notes.map(noteOf))
        const results = await hub.settle(caller, acks.map(ackOf))
        return create(AckResponseSchema, { results: results.map(ackResultMessage) })
      })
    },

    async extend({ jobs, leaseMs }, context) {
      return asked(context, async (caller) => {
        const held = jobs.map(({ id, token }) => ({ id, token }))
        const results = await hub.extend(caller, held, leaseMs === 0n ? POLL_LEASE_MS : Number(leaseMs))
        return create(ExtendResponseSchema, { results: results.map(extendedMessage) })
      })
    },
  }
}

interface Stream {
  readonly receiver: Receiver
  readonly outbox: Outbox<ReceiveResponse>
  /** It closed its side in order: it acks no more, and wants no more. */
  saidGoodbye: boolean
}

async function openStream(hub: ReceiverHub, caller: Caller, open: Open): Promise<Stream> {
  const { name, queues, keys, credits } = open
  const outbox: Outbox<ReceiveResponse> = new Outbox(OUTBOX_BYTES, () => receiver.drained())
  const receiver = await hub.connect({
    caller,
    queues,
    credits: Math.max(1, credits),
    protocol: 'grpc',
    ...(name === '' ? {} : { name }),
    ...(keys === '' ? {} : { keys }),
    send: (jobs) =>
      outbox.push(
        create(ReceiveResponseSchema, { jobs: jobs.map(jobMessage) }),
        jobs.reduce((sum, job) => sum + job.bytes, 0),
      ),
    stop: (stops) => void outbox.push(create(ReceiveResponseSchema, { stops: stops.map(stopMessage) }), 200),
    end: () => outbox.end(),
  })
  outbox.push(create(ReceiveResponseSchema, { hello: { receiver: receiver.id } }), 100)
  return { receiver, outbox, saidGoodbye: false }
}

/** What a receiver says in one message. */
function take(receiver: Receiver, outbox: Outbox<ReceiveResponse>, message: ReceiveRequest): void {
  const { acks, credits, notes } = message
  if (notes.length > 0) receiver.note(notes.map(noteOf))
  if (credits > 0) receiver.grant(credits)
  if (acks.length === 0) return
  void receiver.ack(acks.map(ackOf)).then((results) => {
    // That an ack was saved is the rule, and need not be said job by job.
    const told = results.filter(({ status }) => status !== 'ok')
    const saved = results.length - told.length
    const message = create(ReceiveResponseSchema, { saved, results: told.map(ackResultMessage) })
    outbox.push(message, 10 + told.length * 60)
  })
}
