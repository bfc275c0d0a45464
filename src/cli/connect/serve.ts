import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Logger, Skep } from '../../index.ts'
import type { AlertHook, GivenToken, Listening, NodeServerOptions, SkepServer } from '../../server.ts'
import type { Call, Flags } from '../command.ts'
import { usage } from '../exit.ts'
import { briefly } from '../explain-error.ts'
import { quote } from '../format/text.ts'

/** The flags of everything that opens a port. */
export const PORT_FLAG: Flags = {
  port: { kind: 'text', value: 'n', help: 'Port; 0 selects a free one. Default: 7537' },
}

/** The number of further ports that are tried without --port. */
const TRIES = 20

/** A server that listens. */
export interface Serving {
  readonly server: SkepServer
  readonly at: Listening
}

/** Opens the port of --port, or the next free one from the default on. */
export async function listen(
  { args }: Call,
  skep: Skep,
  options: NodeServerOptions,
  where: { readonly host?: string } = {},
): Promise<Serving> {
  const { createServer, DEFAULT_PORT } = await import('../../server.ts')
  const port = args.whole('port', { min: 0, max: 65_535 })
  const server = createServer(skep, options)
  try {
    const at = await server.listen({
      ...where,
      port: port ?? DEFAULT_PORT,
      tries: port === undefined ? TRIES : 0,
    })
    return { server, at }
  } catch (error) {
    await server.close().catch(() => {})
    throw taken(error)
  }
}

/** Where gRPC is served, or how to get it. */
export function grpcAddress({ grpc, host, port }: Listening): string {
  return grpc
    ? `${host}:${port}`
    : 'off; for gRPC: npm install @connectrpc/connect @connectrpc/connect-node @bufbuild/protobuf'
}

/** The server speaks of its options; on the command line they are flags. */
function taken(error: unknown): unknown {
  const { facts, cause } = error as {
    readonly facts?: { readonly host?: string; readonly port?: number }
    readonly cause?: { readonly code?: unknown }
  }
  if (cause?.code !== 'EADDRINUSE' || facts?.port === undefined) return error
  return usage(
    `Port ${facts.port} of ${facts.host} is taken: another program listens there.`,
    'Choose another with --port, or --port 0 for any that is free.',
  )
}

/** The token of --token and --token-file. The environment's own is read by the server itself. */
export function tokensOf({ args, cwd }: Call): readonly GivenToken[] {
  if (args.typed('token') && args.typed('token-file')) {
    throw usage('--token and --token-file do not go together.')
  }
  const file = args.typed('token-file') ? args.text('token-file') : undefined
  const given = args.typed('token') ? args.text('token') : undefined
  const token = file === undefined ? given : read(cwd, file, 'token')
  if (token === undefined) return []
  const scopes = ['enqueue', 'work', 'read', 'operate', 'admin'] as const
  return [{ name: 'command line', token, scopes, space: '*', payloads: true }]
}

/** Where alerts go, if anywhere. */
export function alertsOf({ args, cwd }: Call): readonly AlertHook[] {
  const url = args.text('alert-url')
  if (url === undefined) return []
  const file = args.text('alert-secret-file')
  const secret = file === undefined ? args.text('alert-secret') : read(cwd, file, 'secret')
  if (secret === undefined) {
    throw usage(
      'Alerts need a secret, so that their receiver can verify them.',
      'Write one with: echo "whsec_$(openssl rand -base64 32)" > secret   and name it with --alert-secret-file.',
    )
  }
  return [{ url, secret, allow: args.names('alert-allow') ?? [] }]
}

/** The certificate to speak https with, if there is one. */
export function tlsOf({ args, cwd }: Call): Pick<NodeServerOptions, 'tls'> {
  const cert = args.text('tls-cert')
  const key = args.text('tls-key')
  if (cert === undefined && key === undefined) return {}
  if (cert === undefined || key === undefined) throw usage('--tls-cert and --tls-key go together.')
  const tls = { cert: read(cwd, cert, 'certificate'), key: read(cwd, key, 'key') }
  try {
    createSecureContext(tls)
  } catch (cause) {
    throw usage(`${quote(cert)} and ${quote(key)} are no certificate and its key: ${briefly(cause)}`)
  }
  return { tls }
}

function read(cwd: string, file: string, what: string): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8').trim()
  } catch (cause) {
    throw usage(`The ${what} cannot be read from ${quote(file)}: ${briefly(cause)}`)
  }
}

/** What the server says while it serves. */
export function serverLogger(say: (text: string) => void): Logger {
  const silent = (): void => {}
  const tell = (message: string, facts?: Readonly<Record<string, unknown>>): void => {
    // The command shows it where it shows the other addresses: see grpcAddress.
    if (facts?.['code'] === 'CLIENT_MISSING') return
    const error = facts?.['error']
    say(error === undefined ? message : `${message} ${briefly(error)}`)
  }
  return { debug: silent, info: silent, warn: tell, error: tell }
}

/** Whether a browser can be opened on this machine. */
export function wantsBrowser({ args, env, out }: Call): boolean {
  const isRemote = [env['SSH_CONNECTION'], env['SSH_TTY'], env['SSH_CLIENT']].some(
    (one) => (one ?? '') !== '',
  )
  const isAutomatic = (env['CI'] ?? '') !== '' || !process.stdout.isTTY || out.json
  return !args.on('no-open') && !isRemote && !isAutomatic && hasDesktop(env)
}

export function hasDesktop(env: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') return true
  return (env['DISPLAY'] ?? env['WAYLAND_DISPLAY'] ?? '') !== ''
}

/** How long a browser may take to say that it cannot be started. One that is on screen by then may go on for hours. */
const START_MS = 1_500

/** Opens a page in the browser. False if there is none. */
export function openBrowser(url: string): Promise<boolean> {
  const [command, args] =
    process.platform === 'darwin'
      ? ['open', [url]]
      : process.platform === 'win32'
        ? ['cmd', ['/c', 'start', '""', url]]
        : ['xdg-open', [url]]
  return new Promise((done) => {
    const child = spawn(command as string, args as string[], { stdio: 'ignore', detached: true })
    const timer = setTimeout(() => done(true), START_MS)
    const end = (isOpen: boolean): void => {
      clearTimeout(timer)
      done(isOpen)
    }
    child.once('error', () => end(false))
    // Without a browser or a display xdg-open starts and then exits with an error.
    child.once('exit', (code) => end(code === 0))
    child.unref()
  })
}
