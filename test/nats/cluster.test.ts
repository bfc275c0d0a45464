import type { NatsConnection } from '@nats-io/transport-node'
import { expect, it } from 'vitest'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import type { NatsServer } from '../servers/index.ts'
import { ask, eventually, gets, openConnection, openNotifier, openServer, workerOf } from './world.ts'

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

async function replaced(nats: NatsServer, name: string, meanwhile: () => Promise<void>): Promise<void> {
  const node = nats.nodes.find((one) => one.name === name)
  if (!node) throw new Error(`There is no node ${name}.`)
  await node.kill()
  await meanwhile()
  await node.restart()
}

it('goes on when a node of three is killed, the leaders of the stream and of the consumer too', async () => {
  const nats = await openServer({ nodes: 3 })
  const [here, there] = [
    openNotifier({ servers: nats.urls, replicas: 3 }),
    openNotifier({ servers: nats.urls, replicas: 3 }),
  ]
  const connection = await openConnection(nats)
  const worker = workerOf(there)
  const ear = new Ear(there)
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
  await exchange('start')
  await whole(connection)
  const { consumers } = await ask<{ consumers: string[] }>(connection, 'CONSUMER.NAMES.skep-notices')

  await replaced(nats, await leaderOf(connection, 'STREAM.INFO.skep-notices'), () => exchange('stream'))
  await whole(connection)
  const consumer = `CONSUMER.INFO.skep-notices.${consumers[0]}`
  await replaced(nats, await leaderOf(connection, consumer), () => exchange('consumer'))

  await exchange('end')
  const { config } = await ask<Info>(connection, 'STREAM.INFO.skep-notices')
  expect(config?.num_replicas).toBe(3)
  expect(consumers).toHaveLength(1)
}, 120_000)
