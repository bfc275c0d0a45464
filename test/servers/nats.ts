// Real NATS servers with JetStream on disk, in temporary folders, on private ports of this machine alone: one by itself, or
// three that are a cluster. A server can be killed and started again with the same port and the same disk, or an empty one.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { installPackage } from './apt.ts'
import {
  chownTo,
  freePort,
  type Identity,
  type ServerProcess,
  serverFolder,
  serverIdentity,
  startServer,
} from './server.ts'

export interface NatsNode {
  readonly url: string
  readonly name: string
  /** SIGKILL: it says goodbye to nobody. */
  kill(): Promise<void>
  /** Starts it again where it was. With `empty`, without what was on its disk. */
  restart(options?: { readonly empty?: boolean }): Promise<void>
}

export interface NatsServer {
  /** Where the nodes are; for a single server, one. */
  readonly urls: readonly string[]
  readonly nodes: readonly NatsNode[]
  stop(): Promise<void>
}

export type NatsResult =
  | { readonly nats: NatsServer; readonly reason?: undefined }
  | { readonly nats?: undefined; readonly reason: string }

export interface NatsOptions {
  /** How many nodes; more than one are a cluster. @default 1 */
  readonly nodes?: 1 | 3
  /** Lines of the server's settings, for example who may log in. */
  readonly settings?: string
  /** @default true */
  readonly jetstream?: boolean
}

export const natsPaths: readonly string[] = [
  '/usr/sbin/nats-server',
  '/usr/local/bin/nats-server',
  '/opt/homebrew/bin/nats-server',
]

/** The program, installed if it is missing; or why there is none. */
export function natsProgram():
  | { readonly command: string; readonly reason?: undefined }
  | { readonly command?: undefined; readonly reason: string } {
  const there = natsPaths.find((path) => existsSync(path))
  if (there !== undefined) return { command: there }
  const reason = installPackage('nats-server')
  if (reason !== undefined) return { reason: `NATS is not installed, and ${reason}` }
  const command = natsPaths.find((path) => existsSync(path))
  return command === undefined ? { reason: 'the package nats-server brought no program' } : { command }
}

/** Starts NATS, or says why there is none. It stops at the latest when this process ends. */
export async function startNats(options: NatsOptions = {}): Promise<NatsResult> {
  const { nodes: count = 1, settings = '', jetstream = true } = options
  const { command, reason } = natsProgram()
  if (command === undefined) return { reason }

  const identity = serverIdentity()
  const ports: { client: number; route: number }[] = []
  for (let n = 0; n < count; n++) ports.push({ client: await freePort(), route: await freePort() })
  const routes = ports.map(({ route }) => `"nats://127.0.0.1:${route}"`).join(', ')
  const nodes = ports.map(({ client, route }, n) => {
    const cluster =
      count === 1
        ? ''
        : `cluster { name: skep, host: 127.0.0.1, port: ${route}, routes: [${routes}], no_advertise: false }`
    return new Node({
      command,
      identity,
      name: `n${n + 1}`,
      port: client,
      text: `${cluster}\n${settings}`,
      jetstream,
    })
  })
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    await Promise.all(nodes.map((node) => node.start()))
  } catch (error) {
    await stop()
    throw error
  }
  return { nats: { urls: nodes.map(({ url }) => url), nodes, stop } }
}

interface NodeSettings {
  readonly command: string
  readonly identity: Identity
  readonly name: string
  readonly port: number
  readonly text: string
  readonly jetstream: boolean
}

class Node implements NatsNode {
  readonly url: string
  readonly name: string
  readonly #settings: NodeSettings
  /** Its disk, which outlives the server's process. */
  readonly #disk: string
  #process: ServerProcess | undefined

  constructor(settings: NodeSettings) {
    this.#settings = settings
    this.url = `nats://127.0.0.1:${settings.port}`
    this.name = settings.name
    this.#disk = serverFolder('nats-disk', settings.identity)
  }

  async start(): Promise<void> {
    const { command, identity, name, port, text, jetstream } = this.#settings
    const folder = serverFolder('nats', identity)
    const config = join(folder, 'nats.conf')
    const store = jetstream ? `jetstream { store_dir: "${this.#disk}" }` : ''
    writeFileSync(config, `server_name: ${name}\nlisten: "127.0.0.1:${port}"\n${store}\n${text}\n`)
    this.#process = await startServer({
      command,
      args: ['--config', config],
      identity,
      folder,
      stopSignal: 'SIGTERM',
      ping: () => ping(port),
    })
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
    this.#process = undefined
  }

  async restart({ empty = false }: { readonly empty?: boolean } = {}): Promise<void> {
    await this.kill()
    if (empty) {
      rmSync(this.#disk, { recursive: true, force: true })
      mkdirSync(this.#disk)
      chownTo(this.#disk, this.#settings.identity)
    }
    await this.start()
  }

  async stop(): Promise<void> {
    await this.#process?.stop()
    rmSync(this.#disk, { recursive: true, force: true })
  }
}

/** Throws when no NATS answers there. Spoken by hand, so that no client has to be installed. */
function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.setTimeout(1_000, () => socket.destroy(new Error('No answer.')))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      if (data.toString().startsWith('INFO ')) resolve()
      else reject(new Error(data.toString()))
    })
  })
}
