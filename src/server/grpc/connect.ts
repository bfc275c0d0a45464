/**
 * gRPC, gRPC-Web and Connect in one: the same two services, whichever of the three a client speaks. Over HTTP/1.1 there is no
 * stream in both directions; `Subscribe` with `Ack` is for those who have nothing else.
 */
import {
  type ConnectError,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import { codeToHttpStatus, codeToString } from '@connectrpc/connect/protocol-connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { type Runtime, SkepError } from '../../index.ts'
import type { Guard } from '../../operations/authorize/guard.ts'
import { type Callable, callerIn } from '../../operations/call.ts'
import type { Caller } from '../../operations/operation.ts'
import { stillGood } from '../access/access.ts'
import {
  discard,
  discardAfter,
  headOf,
  type Incoming,
  type NodeHandler,
  type Outgoing,
  remoteOf,
} from '../http/node.ts'
import type { ReceiverHub } from '../receivers/receiver-registry.ts'
import { connectError } from './errors.ts'
import { Operations } from './gen/skep/v1/operations_pb.ts'
import { Skep } from './gen/skep/v1/skep_pb.ts'
import { operationsService } from './operations-service.ts'
import { skepService } from './skep-service.ts'

export interface ConnectEnv extends Callable {
  readonly hub: ReceiverHub
  /** The largest message. */
  readonly messageBytes: number
  report(error: unknown): void
}

const callerKey = createContextKey<Caller | null>(null)

/** Serves the services to node's requests of HTTP/1.1 and of HTTP/2. */
export function connectHandler(env: ConnectEnv): NodeHandler {
  const callers = new WeakMap<object, Caller>()
  const full = { ...env, callerOf }
  const handle = connectNodeAdapter({
    routes(router) {
      router.service(Skep, skepService(full))
      router.service(Operations, operationsService(full))
    },
    readMaxBytes: env.messageBytes,
    // Squeezing jobs costs more than most ways to a receiver save, and waits for a thread each time.
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    contextValues: (request) => createContextValues().set(callerKey, callers.get(request) ?? null),
  })
  // Who asks is known before anything of a message is read: strangers fill no memory.
  const serve = async (incoming: Incoming, outgoing: Outgoing): Promise<void> => {
    try {
      callers.set(incoming, await identify(env.guard, incoming))
    } catch (error) {
      if (!(error instanceof SkepError)) env.report(error)
      return refuse(incoming, outgoing, {
        error: connectError(error, env.services.redactor),
        runtime: env.services.runtime,
      })
    }
    discardAfter(incoming, outgoing, env.services.runtime)
    sayPlainly(outgoing)
    handle(incoming, outgoing)
  }
  return (incoming, outgoing) => void serve(incoming, outgoing)
}

async function callerOf({ values }: HandlerContext): Promise<Caller> {
  const caller = values.get(callerKey)
  if (caller === null) throw new SkepError('UNAUTHENTICATED', NO_TOKEN)
  return caller
}

const NO_TOKEN = 'Send a token: authorization: Bearer skep_…'

/** Who asks, judged as over HTTP: by the same guard and from the same headers. */
async function identify(guard: Guard, incoming: Incoming): Promise<Caller> {
  const request = headOf(incoming)
  const remote = remoteOf(incoming)
  const caller = await guard.identify(request, remote)
  if (caller instanceof Response) throw new SkepError('UNAUTHENTICATED', NO_TOKEN)
  const space = request.headers.get('skep-space')
  return { ...callerIn(caller, space), isStillGood: stillGood(guard, { request, remote }, caller) }
}

/** Lets Connect write the words of an error as {@link plain} does. */
function sayPlainly(outgoing: Outgoing): void {
  const add = outgoing.addTrailers.bind(outgoing) as (trailers: Readonly<Record<string, unknown>>) => void
  outgoing.addTrailers = (trailers: object): void => {
    const message = (trailers as Readonly<Record<string, unknown>>)['grpc-message']
    add(typeof message === 'string' ? { ...trailers, 'grpc-message': plain(message) } : { ...trailers })
  }
}

/**
 * gRPC wants only what is no printable ASCII to be encoded, and "%". What is encoded beyond that stays so for whoever uses grpc-js,
 * which would read "a%2C b".
 */
function plain(encoded: string): string {
  return encoded.replace(/%(?!25|7F)[2-7][0-9A-F]/g, (code) => decodeURIComponent(code))
}

/** Refuses a client of gRPC, gRPC-Web or Connect, each in its own protocol. What it sends is not read but discarded. */
async function refuse(
  incoming: Incoming,
  outgoing: Outgoing,
  { error, runtime }: { readonly error: ConnectError; readonly runtime: Runtime },
): Promise<void> {
  const type = incoming.headers['content-type'] ?? ''
  const isGrpc = type.startsWith('application/grpc')
  const message = plain(encodeURIComponent(error.rawMessage))
  const body = isGrpc ? '' : JSON.stringify({ code: codeToString(error.code), message: error.rawMessage })
  const headers: Record<string, string> = {
    ...Object.fromEntries(error.metadata),
    'content-type': isGrpc ? type : 'application/json',
    ...(isGrpc ? { 'grpc-status': String(error.code), 'grpc-message': message } : {}),
  }
  const status = isGrpc ? 200 : codeToHttpStatus(error.code)
  if ('stream' in outgoing) {
    // Not with writeHead, which sends the headers by themselves: grpc-js reads a status from headers only if they end the stream.
    outgoing.statusCode = status
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value)
    if (isGrpc) outgoing.end()
    else outgoing.end(body)
    return
  }
  headers['content-length'] = String(Buffer.byteLength(body))
  headers['connection'] = 'close'
  outgoing.writeHead(status, headers)
  outgoing.write(body)
  // The response is complete for the client by its length. Closing before the request has ended could reset the connection.
  await discard(incoming, runtime)
  outgoing.end()
}
