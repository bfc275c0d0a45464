// A server on a port of its own, and clients that nobody here wrote: grpc-js, and Python's grpcio with code made by protoc.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { createSkep, type Skep, type Store } from 'skep'
import { memoryStore } from 'skep/memory'
import { createServer, type NodeServerOptions, type SkepServer } from 'skep/server'
import { onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const protos = join(root, 'proto')

export interface Stage {
  readonly skep: Skep
  readonly server: SkepServer
  readonly url: string
  /** host:port */
  readonly address: string
}

export async function stage(options: NodeServerOptions & { readonly store?: Store } = {}): Promise<Stage> {
  const { store = memoryStore(), ...rest } = options
  const skep = createSkep({ store })
  const server = createServer(skep, rest)
  const { url, host, port } = await server.listen({ port: 0 })
  onTestFinished(async () => {
    await server.close()
    await skep.close()
  })
  return { skep, server, url, address: `${host}:${port}` }
}

/** A client of grpc-js, made from the very files that the package ships. */
export function grpcClient(address: string): GrpcClients {
  const files = ['skep/v1/skep.proto', 'skep/v1/operations.proto'].map((file) => join(protos, file))
  const definition = loadSync(files, {
    includeDirs: [protos],
    keepCase: true,
    longs: Number,
    defaults: true,
    oneofs: true,
  })
  const loaded = loadPackageDefinition(definition) as unknown as {
    skep: { v1: Record<'Skep' | 'Operations', new (address: string, how: unknown) => RawClient> }
  }
  const { Skep, Operations } = loaded.skep.v1
  const clients = [Skep, Operations].map((Client) => new Client(address, credentials.createInsecure()))
  onTestFinished(() => {
    for (const client of clients) client.close()
  })
  const [skep, operations] = clients as [RawClient, RawClient]
  return { skep, operations, call: (client, method, input, token) => callOnce(client, method, input, token) }
}

export type RawClient = { close(): void } & Record<string, any>

export interface GrpcClients {
  readonly skep: RawClient
  readonly operations: RawClient
  call(client: RawClient, method: string, input: unknown, token?: string): Promise<any>
}

function callOnce(client: RawClient, method: string, input: unknown, token?: string): Promise<any> {
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
  return new Promise((resolve, reject) => {
    client[method](input, metadata, (error: Error | null, answer: unknown) =>
      error ? reject(error) : resolve(answer),
    )
  })
}

/** A folder with the Python code for our protos. */
export function pythonCode(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-python-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  protoc(
    `--python_out=${folder}`,
    `--grpc_out=${folder}`,
    '--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin',
  )
  return folder
}

export function protoc(...args: string[]): void {
  const files = ['skep/v1/skep.proto', 'skep/v1/operations.proto']
  execFileSync('/usr/bin/protoc', [`--proto_path=${protos}`, ...args, ...files], { cwd: protos })
}

/** Runs a Python program with that code until the test is over. */
export function python(file: string, args: readonly string[], folder: string): ChildProcess {
  const child = spawn('/usr/bin/python3', [file, ...args], {
    env: { ...process.env, PYTHONPATH: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

export function example(name: string): string {
  return join(root, 'examples/python', name)
}
