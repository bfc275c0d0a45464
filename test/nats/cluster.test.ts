import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import { type NatsServer, startNats } from '../servers/index.ts'
import { ask, eventually, gets, openConnection, openNotifier, workerOf } from './world.ts'

interface Info {
  readonly config?: { readonly num_replicas: number }
  readonly cluster?: {
    readonly leader?: string
    readonly replicas?: readonly { readonly current: boolean; readonly offline?: boolean }[]
  }
}

/** All three nodes have all notices. */
async function whole(connection: NatsConnection): Promise<void> {
  await eventually('three nodes that are up to date', async () => {
    const { cluster } = await ask<Info>(connection, 'STREAM.INFO.skep-notices')
    return cluster?.leader !== undefined && cluster.replicas?.filter(({ current }) => current).length === 2
  })
}

async function leaderOf(connection: NatsConnection, call: string): Promise<string> {
  let leader: string | undefined
  await eventually('a leader', async () => {
    leader = (await ask<Info>(connection, call)).cluster?.leader
    return leader !== undefined
  })
  return leader as string
}

let nats: NatsServer
beforeAll(async () => {
  const started = await startNats({ nodes: 3 })
  if (!started.nats) throw new Error(`There is no NATS for the tests: ${started.reason}`)
  nats = started.nats
}, 300_000)
afterAll(() => nats?.stop())

it('goes on when a node of three is killed that leads the stream and the consumer', async () => {
  const connection = await openConnection(nats)
  const here = openNotifier({ servers: nats.urls, replicas: 3 })
  const first = jobIds(1)
  here.publish([named(first)])
  const early = workerOf(here)
  await gets(early, first)
  early.close()
  await whole(connection)
  const { config } = await ask<Info>(connection, 'STREAM.INFO.skep-notices')
  const { consumers } = await ask<{ consumers: string[] }>(connection, 'CONSUMER.NAMES.skep-notices')
  const leader = await leaderOf(connection, 'STREAM.INFO.skep-notices')
  await eventually('one leader of both', async () => {
    if ((await leaderOf(connection, `CONSUMER.INFO.skep-notices.${consumers[0]}`)) === leader) return true
    await ask(connection, `CONSUMER.LEADER.STEPDOWN.skep-notices.${consumers[0]}`)
    return false
  })
  const [node, bystander] = [true, false].map((leads) =>
    nats.nodes.find(({ name }) => (name === leader) === leads),
  )
  const there = openNotifier({ servers: bystander?.url ?? '', replicas: 3 })
  const [worker, ear] = [workerOf(there), new Ear(there)]
  const exchange = async (queue: string): Promise<void> => {
    const ids = jobIds(220)
    here.publish([named(ids.slice(0, 100))])
    here.publish([named(ids.slice(100))])
    await gets(worker, ids)
    // A hint may be lost on the way; the next is not.
    await eventually('a hint', () => {
      here.publish([work(queue)])
      return ear.about(queue).length > 0
    })
  }
  await exchange('three of three')

  await node?.kill()
  await exchange('two of three')
  await node?.restart()

  await exchange('three again')
  expect(await leaderOf(connection, 'STREAM.INFO.skep-notices')).not.toBe(leader)
  expect(ear.heard.filter(({ kind }) => kind === 'sync')).toHaveLength(1)
  expect(config?.num_replicas).toBe(3)
}, 120_000)

it('notices that a node has forgotten what it was asked for', async () => {
  const connection = await openConnection(nats)
  const first = openNotifier({ servers: nats.urls, prefix: 'lone' })
  const ids = jobIds(1)
  first.publish([named(ids)])
  await gets(workerOf(first), ids)
  await first.close()
  const leader = await leaderOf(connection, 'STREAM.INFO.lone-notices')
  const node = nats.nodes.find(({ name }) => name === leader)
  // Its connection stays, and nobody else knows the stream: nothing but silence tells that its requests are lost.
  const bystander = nats.nodes.find(({ name }) => name !== leader)
  const there = openNotifier({ servers: bystander?.url ?? '', prefix: 'lone' })
  const [worker, ear] = [workerOf(there), new Ear(there)]
  await ear.ready()
  const before = jobIds(60)
  there.publish([named(before)])
  await gets(worker, before)

  await node?.restart()
  const after = jobIds(60)
  there.publish([named(after)])

  await gets(worker, after)
  expect(ear.heard.filter(({ kind }) => kind === 'sync')).toHaveLength(1)
}, 120_000)
