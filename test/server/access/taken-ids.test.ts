/** An id that a job in a hidden queue has: the refusal is unavoidable, and reveals nothing else. */
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, it } from 'vitest'
import { jobIdOf, queue } from '../../../src/index.ts'
import { Skep } from '../../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { startServer } from '../support.ts'

const NARROW = 'a-narrow-token-that-is-long-enough-for-tests-0123456789'
const WIDE = 'a-wide-token-that-is-long-enough-for-tests-0123456789'
const HIDDEN = 'hidden.q'

async function scene(): Promise<{
  readonly id: string
  readonly other: string
  readonly url: string
  post(token: string, name: string, input: unknown): Promise<string>
}> {
  const { url, skep } = await startServer({
    tokens: [
      { name: 'narrow', token: NARROW, scopes: ['enqueue'], queues: ['a.*'] },
      { name: 'wide', token: WIDE, scopes: ['enqueue'] },
    ],
  })
  const [id, other] = [jobIdOf(HIDDEN, '1'), jobIdOf('a.other', '1')]
  await skep.enqueue(queue(HIDDEN), 1, { id })
  await skep.enqueue(queue('a.other'), 1, { id: other })
  return {
    id,
    other,
    url,
    async post(token, name, input) {
      const response = await fetch(`${url}/api/v1/call/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(input),
      })
      return `${response.status} ${await response.text()}`
    },
  }
}

it.each([
  ['jobs.enqueue', (id: string) => ({ queue: 'a.q', payload: 1, id })],
  ['jobs.enqueueMany', (id: string) => ({ jobs: [{ queue: 'a.q', payload: 1, id }] })],
])('a taken id does not name a queue that the caller does not see: %s', async (name, input) => {
  const { id, other, post } = await scene()

  const refused = await post(NARROW, name, input(id))

  expect(refused).toMatch(/^409 /)
  expect(refused).toContain(`The id \\"${id}\\" is taken in this space`)
  expect(refused).not.toContain(HIDDEN)
  // A queue that the caller sees is named.
  expect(await post(NARROW, name, input(other))).toContain('"queue":"a.other"')
  expect(await post(WIDE, name, input(id))).toContain(`"queue":"${HIDDEN}"`)
})

it('among several taken ids, only those in queues that the caller sees have their queue', async () => {
  const { id, other, post } = await scene()

  const refused = await post(NARROW, 'jobs.enqueueMany', {
    jobs: [id, other].map((one) => ({ queue: 'a.q', payload: 1, id: one })),
  })

  expect(JSON.parse(refused.slice(4)).error.facts).toEqual({
    id,
    taken: [{ id }, { id: other, queue: 'a.other' }],
  })
})

it('a taken id does not name a queue that the caller does not see: gRPC', async () => {
  const { id, url } = await scene()
  const transport = createGrpcTransport({ baseUrl: url })
  const ask = (token: string): Promise<unknown> =>
    createClient(Skep, transport)
      .enqueue(
        { jobs: [{ queue: 'a.q', payload: '1', id }] },
        { headers: { authorization: `Bearer ${token}` } },
      )
      .catch((error: unknown) => error)

  const refused = await ask(NARROW)

  expect(refused).toBeInstanceOf(Error)
  const { rawMessage, metadata } = refused as { rawMessage: string; metadata: Headers }
  expect(rawMessage).toContain(`The id "${id}" is taken in this space`)
  expect(JSON.stringify([rawMessage, ...metadata])).not.toContain(HIDDEN)
  expect(String(await ask(WIDE))).toContain(HIDDEN)
})
