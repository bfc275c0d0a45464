/**
 * gRPC, gRPC-Web and Connect in one: the same two services, whichever of the three a client speaks. Over HTTP/1.1 there is no
 * stream in both directions; `Subscribe` with `Ack` is for those who have nothing else.
 */
import { createContextKey, createContextValues, type HandlerContext } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { SkepError } from '../../index.ts'
import type { Guard, Remote } from '../access/guard-contract.ts'
import { type Callable, callerIn } from '../call.ts'
import type { NodeHandler } from '../http/node.ts'
import type { Caller } from '../operation.ts'
import type { ReceiverHub } from '../receivers/hub.ts'
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

const NOWHERE: Remote = { address: null, isEncrypted: false }
const remoteKey = createContextKey<Remote>(NOWHERE)

/** How the paths of the services begin. */
export const RPC_PREFIXES: readonly string[] = [`/${Skep.typeName}/`, `/${Operations.typeName}/`]

/** Serves the services to node's requests of HTTP/1.1 and of HTTP/2. */
export function connectHandler(env: ConnectEnv): NodeHandler {
  const full = { ...env, callerOf: (context: HandlerContext) => callerOf(env.guard, context) }
  const handle = connectNodeAdapter({
    routes(router) {
      router.service(Skep, skepService(full))
      router.service(Operations, operationsService(full))
    },
    readMaxBytes: env.messageBytes,
    // Squeezing jobs costs more than most ways to a receiver save, and waits for a thread each time.
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    contextValues: ({ socket }) =>
      createContextValues().set(remoteKey, {
        address: socket?.remoteAddress ?? null,
        isEncrypted: socket !== undefined && 'encrypted' in socket,
      }),
  })
  return (request, response) => handle(request, response)
}

/** Who asks, judged as over HTTP: by the same guard and from the same headers. */
async function callerOf(guard: Guard, context: HandlerContext): Promise<Caller> {
  const { requestHeader, url, values, requestMethod } = context
  const request = new Request(url, { method: requestMethod, headers: requestHeader })
  const caller = await guard.identify(request, values.get(remoteKey))
  if (caller instanceof Response) {
    throw new SkepError('UNAUTHENTICATED', 'Send a token: authorization: Bearer skep_…')
  }
  const isStillGood = async (): Promise<boolean> => {
    try {
      return !((await guard.identify(request, values.get(remoteKey))) instanceof Response)
    } catch {
      return false
    }
  }
  return { ...callerIn(caller, requestHeader.get('skep-space')), isStillGood }
}
