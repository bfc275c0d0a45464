import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { SkepError } from '../../src/index.ts'
import { redisStore } from '../../src/redis.ts'
import { FaultProxy } from '../crash/fault-proxy.ts'
import { redisUrlVariable } from '../servers/index.ts'

it('Whoever loses the connection while it asks how the server syncs does not take that for a yes', async () => {
  const { hostname, port } = new URL(process.env[redisUrlVariable] as string)
  const proxy = await FaultProxy.start({ host: hostname, port: Number(port) })
  const store = redisStore({ url: `redis://127.0.0.1:${proxy.port}` })
  const lost = proxy.loseReply({ request: (bytes) => bytes.includes('CONFIG') })

  const codes: string[] = []
  const ask = (): Promise<void> =>
    store.ready().then(
      () => void codes.push('ok'),
      ({ code }: SkepError) => void codes.push(code),
    )
  await Promise.all([ask(), lost])
  // It connects again by itself; until then it says that it cannot.
  while (['STORE_UNAVAILABLE', 'STORE_UNKNOWN'].includes(codes.at(-1) as string)) {
    await sleep(5)
    await ask()
  }
  await store.close()
  await proxy.close()

  expect(codes[0]).toBe('STORE_UNKNOWN')
  expect(codes.at(-1)).toBe('STORE_UNSAFE')
})
