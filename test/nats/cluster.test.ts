import type { NatsConnection } from '@nats-io/transport-node'
import { expect, it } from 'vitest'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
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

it('goes on when a node of three is killed that leads the stream and the consumer', async () => {
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
  const { config } = await ask<Info>(connection, 'STREAM.INFO.skep-notices')
  const { consumers } = await ask<{ consumers: string[] }>(connection, 'CONSUMER.NAMES.skep-notices')
  const leader = await leaderOf(connection, 'STREAM.INFO.skep-notices')
  await eventually('one leader of both', async () => {
    if ((await leaderOf(connection, `CONSUMER.INFO.skep-notices.${consumers[0]}`)) === leader) return true
    await ask(connection, `CONSUMER.LEADER.STEPDOWN.skep-notices.${consumers[0]}`)
    return false
  })
  const node = nats.nodes.find(({ name }) => name === leader)

  await node?.kill()
  await exchange('two of three')
  await node?.restart()

  await exchange('end')
  expect(await leaderOf(connection, 'STREAM.INFO.skep-notices')).not.toBe(leader)
  expect(config?.num_replicas).toBe(3)
}, 120_000)
