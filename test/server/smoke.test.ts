import { expect, it } from 'vitest'
import { createSkep, queue } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { createServer } from '../../src/server.ts'

it('answers every read operation of an empty space', async () => {
  const skep = createSkep({ store: memoryStore() })
  const server = createServer(skep)
  const { url } = await server.listen({ port: 0 })
  const mail = queue<{ to: string }>('mail')
  const job = await skep.enqueue(mail, { to: 'ada' })
  const paths = [
    'me',
    'overview',
    'queues',
    'queues/mail',
    'queues/mail/lanes',
    'jobs',
    `jobs/${job.id}`,
    `jobs/${job.id}/logs`,
    'schedules',
    'schedules-preview?cron=0+3+*+*+*&timeZone=Europe/Berlin',
    'flows',
    'runs',
    'workers',
    'holds',
  ]
  for (const path of paths) {
    const response = await fetch(`${url}/api/v1/${path}`)
    expect(response.status).toBe(200)
  }
  await server.close()
  await skep.close()
})
