/**
 * The gate to gRPC: Connect and protobuf are optional packages, and only what lies behind this import needs them. A server
 * without them serves everything else.
 */
import { type Runtime, SkepError } from '../../index.ts'
import { discardAfter, type NodeHandler } from '../http/node.ts'

type Grpc = typeof import('./connect.ts')

/** How the paths of all gRPC services begin. */
export const RPC_PREFIX = '/skep.v1.'

const PACKAGES = ['@connectrpc/connect', '@connectrpc/connect-node', '@bufbuild/protobuf']

/** The command that installs what gRPC needs. */
export const GRPC_INSTALL: string = `npm install ${PACKAGES.join(' ')}`

/** The code of gRPC. Throws `CLIENT_MISSING` if one of its packages is not installed. */
export async function loadGrpc(): Promise<Grpc> {
  try {
    return await import('./connect.ts')
  } catch (cause) {
    const missing = missingPackage(cause)
    // A package that is there and fails is not a missing one.
    if (missing === undefined) throw cause
    throw new SkepError(
      'CLIENT_MISSING',
      `gRPC needs the package "${missing}", which is not installed. Run "${GRPC_INSTALL}", or start the server with grpc: false.`,
      { cause, facts: { package: missing } },
    )
  }
}

function missingPackage(cause: unknown): string | undefined {
  const { code, message = '' } = cause as { readonly code?: unknown; readonly message?: string }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined
  return PACKAGES.find((name) => message.includes(`'${name}'`) || message.includes(`'${name}/`))
}

/** Answers calls of gRPC, gRPC-Web and Connect where gRPC is off, each in its own protocol. */
export function grpcOff(runtime: Runtime): NodeHandler {
  const message = 'This server was started without gRPC: see docs/server.md#grpc.'
  return (incoming, outgoing) => {
    discardAfter(incoming, outgoing, runtime)
    const type = incoming.headers['content-type'] ?? ''
    if (type.startsWith('application/grpc')) {
      // Without writeHead, so that the headers end the stream: otherwise grpc-js finds no status in them.
      outgoing.setHeader('content-type', type)
      outgoing.setHeader('grpc-status', UNIMPLEMENTED)
      outgoing.setHeader('grpc-message', message)
      outgoing.end()
      return
    }
    const body = JSON.stringify({ code: 'unimplemented', message })
    outgoing.writeHead(501, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    })
    outgoing.end(body)
  }
}

/** As gRPC numbers it. */
const UNIMPLEMENTED = '12'
