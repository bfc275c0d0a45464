/** Servers where the optional packages of gRPC are not installed, as a user has it after `npm install skep`. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Skep } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { builtPackage, project, start, startNode } from './cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder with skep and its one dependency, outside of the repository and its packages. */
function bare(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-bare-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  mkdirSync(join(folder, 'node_modules'))
  cpSync(builtPackage(), join(folder, 'node_modules/skep'), { recursive: true })
  symlinkSync(join(root, 'node_modules/croner'), join(folder, 'node_modules/croner'))
  return folder
}

const main = (folder: string): string => join(folder, 'node_modules/skep/dist/esm/cli/main.js')

/** What a call to a server ends with, by protocol. */
async function refusals(url: string): Promise<Record<string, string>> {
  const transports = {
    grpc: createGrpcTransport({ baseUrl: url }),
    web: createGrpcWebTransport({ baseUrl: url, httpVersion: '1.1' }),
    connect: createConnectTransport({ baseUrl: url, httpVersion: '1.1' }),
  }
  const refused: Record<string, string> = {}
  for (const [name, transport] of Object.entries(transports)) {
    const error = await createClient(Skep, transport)
      .poll({ queues: ['mail'] })
      .catch((cause: unknown) => cause)
    refused[name] =
      error instanceof ConnectError ? `${Code[error.code]} ${error.rawMessage}` : 'it was answered'
  }
  return refused
}

const UNIMPLEMENTED = 'Unimplemented This server was started without gRPC: see docs/server.md#grpc.'
const ALL_REFUSED = { grpc: UNIMPLEMENTED, web: UNIMPLEMENTED, connect: UNIMPLEMENTED }

describe('without the packages of gRPC', () => {
  it('skep server serves the rest, and says once how to get gRPC', async () => {
    const folder = bare()
    const server = startNode([main(folder), 'server', '--db', 'memory:', '--port', '0'], {
      cwd: folder,
    })
    const url = /http:\S+/.exec(await server.until(/on http:\S+/))?.[0] as string
    await server.until(/gRPC off; .*/)

    const health = await fetch(`${url}/healthz`)
    const refused = await refusals(url)
    server.child.kill('SIGTERM')
    const { stdout, stderr, code } = await server.ended

    expect([health.status, refused, code]).toEqual([200, ALL_REFUSED, 0])
    const said = (stdout + stderr).split(
      'npm install @connectrpc/connect @connectrpc/connect-node @bufbuild/',
    )
    expect(said).toHaveLength(2)
    expect(stdout + stderr).not.toContain('warning')
  })

  it('createServer warns once, rejects with grpc: true, and is silent with grpc: false', async () => {
    const folder = bare()
    writeFileSync(
      join(folder, 'server.mjs'),
      `import { createSkep } from 'skep'
       import { memoryStore } from 'skep/memory'
       import { createServer } from 'skep/server'
       for (const grpc of [undefined, true, false]) {
         const logger = { debug() {}, info() {}, warn: (text) => console.log('warned', text), error() {} }
         const server = createServer({ store: memoryStore() }, { logger, ...(grpc === undefined ? {} : { grpc }) })
         try {
           console.log(String(grpc), (await server.listen({ port: 0 })).grpc)
         } catch (error) {
           console.log(String(grpc), error.code, error.facts.package, error.message)
         }
         await server.close()
       }`,
    )

    const { stdout, stderr } = await startNode(['server.mjs'], { cwd: folder }).ended

    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^warned gRPC is off.*"npm install @connectrpc\/connect /),
      'undefined false',
      expect.stringMatching(/^true CLIENT_MISSING @\S+ gRPC needs .*Run "npm install @connectrpc\/connect /),
      'false false',
    ])
  })
})

it('says where gRPC is if its packages are installed', async () => {
  const folder = project()
  const server = start(['server', '--db', 'memory:', '--port', '0'], {
    cwd: folder,
  })

  expect(await server.until(/gRPC \S+/)).toMatch(/^gRPC 127\.0\.0\.1:\d+$/)
})
