import { once } from 'node:events'
import { queue } from 'skep'
import { expect, it } from 'vitest'
import { grpcClient, stage } from './stage.ts'

const mail = queue<{ to: string }, string>('mail')

it('a server that closes gives receivers no more jobs, and lets them end those that they have', async () => {
  const { skep, server, address } = await stage()
  const { skep: client } = grpcClient(address)
  const stream = client['Receive']()
  stream.on('error', () => {})
  stream.write({ open: { queues: ['mail'], credits: 1 } })
  const given = new Promise<{ id: string; token: string }>((resolve) => {
    stream.on('data', ({ jobs }: { jobs: { id: string; token: string }[] }) => {
      if (jobs[0]) resolve(jobs[0])
    })
  })
  const [first, second] = await skep.enqueueMany(mail, [{ to: 'ada' }, { to: 'bob' }])
  const { id, token } = await given

  const ended = once(stream, 'end')
  const closed = server.close()
  stream.write({ acks: [{ id, token, done: '"sent"' }] })
  await Promise.all([closed, ended])

  expect(await skep.jobs.get(first?.id as string)).toMatchObject({
    state: 'done',
    result: 'sent',
    starts: 1,
    lost: 0,
  })
  expect(await skep.jobs.get(second?.id as string)).toMatchObject({ state: 'ready', lost: 0 })
})
