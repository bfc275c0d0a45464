// A number that a double cannot hold is refused by every way in, and nothing of it is stored.
import { describe, expect, it } from 'vitest'
import { startServer } from './support.ts'

const TEXT = '{"id":9007199254740993}'

describe('a number that would come out as another one', () => {
  it.each([
    ['/jobs', `{"queue":"mail","payload":${TEXT}}`],
    ['/jobs/batch', `{"jobs":[{"queue":"mail","payload":1},{"queue":"mail","payload":${TEXT}}]}`],
    ['/poll', `{"queues":["mail"],"x":${TEXT}}`],
    ['/settle', `{"acks":[{"id":"a","token":"b","done":${TEXT}}]}`],
  ])('is refused at %s', async (path, body) => {
    const { url, skep } = await startServer()

    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })

    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'NUMBER_INEXACT', facts: { number: '9007199254740993' } } },
    ])
    expect((await skep.jobs.list({})).jobs).toEqual([])
  })

  it('is refused when a job is enqueued again with another payload, and by a schedule', async () => {
    const { url, call, skep } = await startServer()
    const { id } = await call('jobs.enqueue', { queue: 'mail', payload: { id: '9007199254740993' } })
    const send = async (method: string, path: string, body: string): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${url}/api/v1${path}`, { method, headers, body })
      return ((await response.json()) as { error?: { code?: string } }).error?.code
    }

    expect(await send('POST', `/jobs/${id}/copy`, `{"payload":${TEXT}}`)).toBe('NUMBER_INEXACT')
    const schedule = `{"queue":"mail","every":"1h","payload":${TEXT}}`
    expect(await send('PUT', '/schedules/nightly', schedule)).toBe('NUMBER_INEXACT')
    expect((await skep.jobs.list({})).jobs.map(({ payload }) => payload)).toEqual([
      { id: '9007199254740993' },
    ])
  })
})
