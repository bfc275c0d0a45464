import { afterAll, beforeAll, describe, it } from 'vitest'
import { natsNotifier } from '../../src/nats.ts'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { describeNotices, describeNotifier } from '../../src/testing.ts'
import { type NatsServer, startNats } from '../servers/index.ts'

let nats: NatsServer
beforeAll(async () => {
  const started = await startNats()
  if (!started.nats) throw new Error(`There is no NATS for the tests: ${started.reason}`)
  nats = started.nats
}, 300_000)
afterAll(() => nats?.stop())

const prefixes = new WeakMap<Notifier, string>()
let opened = 0
const HELD_MS = 1_000

function openWith(prefix: string): ReturnType<typeof natsNotifier> {
  const notifier = natsNotifier({ servers: nats.urls, prefix, held: HELD_MS })
  prefixes.set(notifier, prefix)
  return notifier
}

const open = (): ReturnType<typeof natsNotifier> => openWith(`hints-${++opened}`)
const reopen = async (notifier: Notifier): Promise<ReturnType<typeof natsNotifier>> =>
  openWith(prefixes.get(notifier) as string)

describeNotifier('nats', open, { describe, it }, { reopen })

describeNotices('nats', open, { describe, it }, { reopen, heldMs: HELD_MS })
