/** The one port over TLS: HTTP/1.1, gRPC and the cookie of a session. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Skep } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { missingProgram } from '../servers/missing.ts'
import { startServer } from './support.ts'

const hasOpenssl = missingProgram('openssl', ['version']) === undefined

function certificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'skep-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  const how = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '1',
  ]
  execFileSync('openssl', [...how, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

interface Answer {
  readonly status: number
  readonly cookie: string
  readonly body: string
}

function ask(
  url: string,
  ca: string,
  init: { readonly body?: string; readonly type?: string } = {},
): Promise<Answer> {
  const { body, type = 'application/json' } = init
  return new Promise((resolve, reject) => {
    const options = { ca, method: body === undefined ? 'GET' : 'POST', headers: { 'content-type': type } }
    const asked = request(url, options, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          cookie: String(response.headers['set-cookie']),
          body: text,
        }),
      )
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

describe.skipIf(!hasOpenssl)('a server with a certificate', () => {
  it('speaks https and gRPC on its one port, and nothing without TLS', async () => {
    const tls = certificate()
    const { url } = await startServer({ tls })
    const transport = createGrpcTransport({ baseUrl: url, nodeOptions: { ca: tls.cert } })

    const job = await ask(`${url}/api/v1/jobs`, tls.cert, { body: '{"queue":"mail","payload":1}' })
    const { jobs } = await createClient(Skep, transport).enqueue({ jobs: [{ queue: 'mail', payload: '2' }] })
    const plain = fetch(`${url.replace('https', 'http')}/healthz`)

    expect(url).toMatch(/^https:/)
    expect(job.status).toBe(200)
    expect(jobs).toHaveLength(1)
    await expect(plain).rejects.toThrow()
  })

  it('gives a cookie that no browser sends without TLS', async () => {
    const tls = certificate()
    const token = 'a-token-that-nobody-guesses'
    const { url } = await startServer({ tls, tokens: [{ name: 'ada', scopes: ['admin'], token }] })

    const { cookie } = await ask(`${url}/login`, tls.cert, {
      body: `token=${token}`,
      type: 'application/x-www-form-urlencoded',
    })

    expect(cookie).toMatch(/^__Host-.*; .*Secure/)
  })
})
