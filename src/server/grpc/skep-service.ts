import { create } from '@bufbuild/protobuf'
import { ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import { SkepError } from '../../index.ts'
import { type Callable, callOperation } from '../../operations/call.ts'
import type { Caller } from '../../operations/operation.ts'
import { LISTED, type ListedOperation } from '../../operations/table.ts'
import type { Receiver } from '../receivers/receiver.ts'
import type { ReceiverHub } from '../receivers/receiver-registry.ts'
import { connectError } from './errors.ts'
import {
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
  ackResponse,
  enqueueInput,
  extendedMessage,
  jobMessage,
  noteOf,
  stopMessage,
} from './messages.ts'
import { Taker } from './receive-stream.ts'
import { Outbox } from './write-buffer.ts'

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
      // What is no message at all is told by the protocol itself.
      if (!(error instanceof SkepError || error instanceof ConnectError)) env.report(error)
      throw connectError(error, redactor)
    }
  }

  /** The same for those who work, who pass the guard as over HTTP. */
  const worked = <Answer>(
    context: HandlerContext,
    act: (caller: Caller) => Promise<Answer> | Answer,
  ): Promise<Answer> =>
    asked(context, (caller) => {
      const name = context.method.name
      env.guard.authorize(caller, { name, scope: 'work', isChange: false, queues: [], target: '' })
      return act(caller)
    })

  return {
    async enqueue({ jobs }, context) {
      return asked(context, async (caller) => {
        const input = { jobs: jobs.map(enqueueInput) }
        const output = await callOperation(env, ENQUEUE, input, { caller, signal: context.signal })
        return create(EnqueueResponseSchema, output as { jobs: { id: string; duplicate: boolean }[] })
      })
    },

    async *receive(requests, context) {
      const incoming = requests[Symbol.asyncIterator]()
      const stream = await worked(context, async (caller) => {
        const first = await incoming.next()
        if (first.done === true) return null
        const { open } = first.value
        if (open === undefined) {
          throw new SkepError('REQUEST_INVALID', 'The first message of a stream must have `open`.')
        }
        const opened = await openStream(hub, caller, open)
        return { ...opened, first: first.value }
      })
      if (stream === null) return
      const { outbox, receiver } = stream
      let saidGoodbye = false
      let fault = null as ConnectError | null
      const reading = read()
      try {
        yield* outbox
        if (fault !== null) throw fault
      } finally {
        // The other end has read all, or is gone; whichever: what it has not acked is free.
        receiver.close(saidGoodbye ? 'done' : 'gone')
        void reading
      }

      async function read(): Promise<void> {
        const taker = new Taker(receiver, outbox)
        try {
          taker.take(stream?.first as ReceiveRequest)
          for (let next = await incoming.next(); next.done !== true; next = await incoming.next()) {
            taker.take(next.value)
            // Whoever does not read the answers to its acks is not read any further either.
            await taker.room()
          }
          // A stream that is cut off ends like one that was closed; a moment later the signal tells them apart.
          await new Promise<void>((resolve) => env.services.runtime.timer(CUT_OFF_MS, resolve))
          saidGoodbye = !context.signal.aborted
        } catch (error) {
          if (error instanceof SkepError) fault = connectError(error, redactor)
        } finally {
          outbox.end()
        }
      }
    },

    async *subscribe(open, context) {
      const { outbox, receiver } = await worked(context, (caller) => openStream(hub, caller, open))
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
      return worked(context, async (caller) => {
        const receiver = hub.find(caller, id)
        if (notes.length > 0) await hub.note(caller, notes.map(noteOf))
        // Acks count also when the stream has ended meanwhile: their tokens tell whether they still may.
        const answer = await hub.settle(caller, acks.map(ackOf))
        if (credits > 0) receiver?.grant(credits)
        return ackResponse(answer)
      })
    },

    async poll({ name, queues, keys, max, waitMs, leaseMs }, context) {
      return worked(context, async (caller) => {
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
      return worked(context, async (caller) => {
        if (notes.length > 0) await hub.note(caller, notes.map(noteOf))
        return ackResponse(await hub.settle(caller, acks.map(ackOf)))
      })
    },

    async extend({ jobs, leaseMs }, context) {
      return worked(context, async (caller) => {
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
    end: (reason) => {
      // One who does not read would not read the rest either.
      if (reason === 'slow') outbox.drop()
      outbox.end()
    },
  })
  outbox.push(create(ReceiveResponseSchema, { hello: { receiver: receiver.id } }), 100)
  return { receiver, outbox }
}
