import { describe, expect, it, onTestFinished } from 'vitest'
import type { Notifier } from '../../../src/notifier/notifier.ts'
import { postgresNotifier } from '../../../src/postgres.ts'
import { type Runtime, sleep, systemRuntime } from '../../../src/runtime/runtime.ts'
import { FaultProxy } from '../../crash/fault-proxy.ts'
import { eventually } from '../../postgres/world.ts'
import { freshDatabase } from '../../servers/index.ts'

const FASTER = 20

/** All waits are a twentieth of what they would be. */
function hasty(): Runtime {
  const system = systemRuntime()
  return { ...system, timer: (ms, run, options) => system.timer(ms / FASTER, run, options) }
}

/** A notifier behind a proxy that can take the server away. */
async function listening(): Promise<{ proxy: FaultProxy; notifier: Notifier; syncs: () => number }> {
  const database = await freshDatabase()
  const server = new URL(database.url)
  const proxy = await FaultProxy.start({ host: server.hostname, port: Number(server.port) })
  const url = new URL(server)
  url.port = String(proxy.port)
  const notifier = postgresNotifier({ url: url.href, connections: 1, runtime: hasty() })
  onTestFinished(async () => {
    await notifier.close()
    await proxy.close()
    await database.drop()
  })
  let syncs = 0
  notifier.subscribe((hints) => {
    syncs += hints.filter(({ kind }) => kind === 'sync').length
  })
  await eventually('the first sync', () => syncs > 0 && notifier.health().status === 'up')
  return { proxy, notifier, syncs: () => syncs }
}

describe('the session of a Postgres store', () => {
  it('notices that the other end has vanished, and comes back when it is there again', async () => {
    const { proxy, notifier, syncs } = await listening()

    // No byte arrives and no connection ends: only asking shows it.
    proxy.set({ blackHole: 'both' })
    await eventually('the notifier to be down', () => notifier.health().status === 'down')
    const before = syncs()
    proxy.heal()

    await eventually('the next sync', () => syncs() > before && notifier.health().status === 'up')
    expect(notifier.health().detail).toBe('Listening.')
  })

  it('comes back after any number of failed attempts', async () => {
    const { proxy, notifier, syncs } = await listening()

    proxy.set({ refuse: true })
    proxy.reset()
    await eventually('the notifier to be down', () => notifier.health().status === 'down')
    // Long enough for several attempts, and for none to be left if somebody had counted them.
    await sleep(systemRuntime(), 2_000)
    const before = syncs()
    proxy.heal()

    await eventually('the next sync', () => syncs() > before && notifier.health().status === 'up')
  })
})
