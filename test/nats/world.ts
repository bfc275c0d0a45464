// What the tests of the NATS notifier share: a server, notifiers that close with the test, and JetStream asked by hand.

import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { onTestFinished } from 'vitest'
import { type NatsNotifierOptions, natsNotifier } from '../../src/nats.ts'
import type { Notice } from '../../src/notifier/notices.ts'
import { Basket, MAIL } from '../../src/testing/notices/basket.ts'
import { type NatsOptions, type NatsServer, startNats } from '../servers/index.ts'

export type NatsNotifier = ReturnType<typeof natsNotifier>

export const HELD_MS = 1_000

/** A server that stops with the test. */
export async function openServer(options: NatsOptions = {}): Promise<NatsServer> {
  const { nats, reason } = await startNats(options)
  if (!nats) throw new Error(`There is no NATS for the tests: ${reason}`)
  onTestFinished(() => nats.stop())
  return nats
}

/** A notifier that closes with the test. */
export function openNotifier(options: NatsNotifierOptions): NatsNotifier {
  const notifier = natsNotifier({ held: HELD_MS, ...options })
  onTestFinished(() => notifier.close())
  return notifier
}

/** A connection that comes back so long after it was made, or last tried. */
export async function openConnection(nats: NatsServer, reconnectTimeWait = 100): Promise<NatsConnection> {
  const connection = await connect({
    servers: [...nats.urls],
    maxReconnectAttempts: -1,
    reconnectTimeWait,
    reconnectJitter: 0,
  })
  onTestFinished(() => connection.close())
  return connection
}

/** Asks JetStream. */
export async function ask<T>(connection: NatsConnection, call: string, body: object = {}): Promise<T> {
  return (await connection.request(`$JS.API.${call}`, JSON.stringify(body), { timeout: 2_000 })).json<T>()
}

/** A tap that acks all that comes, and always has room for more. */
export function workerOf({ notices }: NatsNotifier): Basket {
  const basket: Basket = new Basket(notices, MAIL, (notice: Notice) => {
    notice.ack()
    basket.want(10)
  })
  return basket.want(10)
}

/** Waits until all these have come, once at least. */
export async function gets(basket: Basket, ids: readonly string[]): Promise<void> {
  await basket.until(() => {
    const came = new Set(basket.ids)
    return ids.every((id) => came.has(id))
  }, `${ids.length} ids`)
}

/** Asks again and again, for what gives no signal of its own. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    try {
      if (await condition()) return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    if (performance.now() > deadline) throw new Error(`Waited 20 s for ${what}.`)
    await sleep(25)
  }
}
