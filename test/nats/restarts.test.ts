import { expect, it } from 'vitest'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import { ask, eventually, gets, openConnection, openNotifier, openServer, workerOf } from './world.ts'

it('keeps notices through a crash of the server, and hears again after it', async () => {
  const nats = await openServer()
  const [here, there] = [openNotifier({ servers: nats.urls }), openNotifier({ servers: nats.urls })]
  const ear = new Ear(there)
  await ear.ready()
  const before = jobIds(120)
  here.publish([named(before)])
  const connection = await openConnection(nats)
  await eventually('the notices to be kept', async () => {
    const info = await ask<{ state?: { messages: number } }>(connection, 'STREAM.INFO.skep-notices')
    return info.state?.messages === 3
  })

  await nats.nodes[0]?.restart()
  const worker = workerOf(there)
  await gets(worker, before)
  await ear.until(
    (heard) => heard.filter(({ kind }) => kind === 'sync').length >= 2,
    'a sync after the crash',
  )
  const after = jobIds(60)
  here.publish([named(after), work('report')])

  await Promise.all([gets(worker, after), ear.hears('report')])
  await eventually('the news that all is well', () => there.health().status === 'up')
})

it('does not leave a waiting worker deaf when the server crashes', async () => {
  const nats = await openServer()
  const notifier = openNotifier({ servers: nats.urls })
  const worker = workerOf(notifier)
  const before = jobIds(1)
  notifier.publish([named(before)])
  await gets(worker, before)

  await nats.nodes[0]?.kill()
  await eventually('the news that it is down', () => notifier.health().status === 'down')
  const away = jobIds(70)
  notifier.publish([named(away)])
  await nats.nodes[0]?.restart()

  await gets(worker, away)
  await eventually('the news that all is well', () => notifier.health().status === 'up')
})

it("comes back with a connection of the user's", async () => {
  const nats = await openServer()
  const connection = await openConnection(nats)
  const notifier = openNotifier({ connection })
  const worker = workerOf(notifier)
  const ear = new Ear(notifier)
  await ear.ready()

  await nats.nodes[0]?.restart()

  await ear.until(
    (heard) => heard.filter(({ kind }) => kind === 'sync').length >= 2,
    'a sync after the crash',
  )
  const ids = jobIds(60)
  notifier.publish([named(ids)])
  await gets(worker, ids)
})

it('sends hints that found no server as soon as there is one', async () => {
  const nats = await openServer()
  const there = openNotifier({ servers: nats.urls })
  // The one that tells comes back after the one that hears.
  const here = openNotifier({ connection: await openConnection(nats, 4_000) })
  const [ear, own] = [new Ear(there), new Ear(here)]
  await Promise.all([ear.ready(), own.ready()])
  await nats.nodes[0]?.kill()
  await eventually('the news', () => here.health().status === 'down')

  here.publish([work('report', { rank: 3 })])
  here.publish([work('report', { rank: 2 })])
  await nats.nodes[0]?.restart()

  await ear.hears('report')
  expect(ear.about('report')).toMatchObject([{ rank: 2 }])
})

it('makes everything anew when the server has lost its disk', async () => {
  const nats = await openServer()
  const notifier = openNotifier({ servers: nats.urls })
  const worker = workerOf(notifier)
  const before = jobIds(1)
  notifier.publish([named(before)])
  await gets(worker, before)

  await nats.nodes[0]?.restart({ empty: true })
  const after = jobIds(60)
  notifier.publish([named(after)])

  await gets(worker, after)
})

it('makes a stream anew that was deleted, and a consumer too', async () => {
  const nats = await openServer()
  const notifier = openNotifier({ servers: nats.urls })
  const connection = await openConnection(nats)
  const worker = workerOf(notifier)
  const first = jobIds(1)
  notifier.publish([named(first)])
  await gets(worker, first)

  await ask(connection, 'STREAM.DELETE.skep-notices')
  const second = jobIds(60)
  notifier.publish([named(second)])
  await gets(worker, second)
  const { consumers } = await ask<{ consumers: string[] }>(connection, 'CONSUMER.NAMES.skep-notices')
  await ask(connection, `CONSUMER.DELETE.skep-notices.${consumers[0]}`)
  const third = jobIds(60)
  notifier.publish([named(third)])

  await gets(worker, third)
  expect(consumers).toHaveLength(1)
})

it('waits for a server that is away at the start, and tells its own process to look meanwhile', async () => {
  const nats = await openServer()
  await nats.nodes[0]?.kill()
  const notifier = openNotifier({ servers: nats.urls })
  const ear = new Ear(notifier)
  const worker = workerOf(notifier)
  const early = jobIds(60)
  notifier.publish([named(early)])
  await ear.hears('mail')
  const { status, detail } = notifier.health()
  const unheard = ear.heard.every(({ kind }) => kind !== 'sync')

  await nats.nodes[0]?.restart()

  await ear.ready()
  await gets(worker, early)
  expect([status, unheard]).toEqual(['down', true])
  expect(detail).toContain('No connection')
  await eventually('the news that all is well', () => notifier.health().status === 'up')
})

it('closes while the server is away', async () => {
  const nats = await openServer()
  await nats.nodes[0]?.kill()
  const notifier = openNotifier({ servers: nats.urls })
  new Ear(notifier)
  workerOf(notifier)
  notifier.publish([named(jobIds(1)), work('mail')])

  await notifier.close()

  expect(notifier.health()).toEqual({ status: 'down', detail: 'Closed.' })
})
