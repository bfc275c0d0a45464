/** A server over a filled store, in a process of its own: node --import jiti/register --expose-gc serve.ts <address as JSON> */
import type { Address } from '../contest.ts'
import { importBuilt } from '../root.ts'
import { openStore } from './open-store.ts'

const { createSkep, silentLogger } = (await importBuilt('index')) as typeof import('skep')
const { createServer } = (await importBuilt('server')) as typeof import('skep/server')

const store = await openStore(JSON.parse(process.argv[2] as string) as Address)
const skep = createSkep({ store, logger: silentLogger })
await skep.ready()
const server = createServer(skep, { logger: silentLogger, dashboard: false, rates: { views: null } })
const { url } = await server.listen({ port: 0 })
process.send?.({ url })

process.on('message', (message: unknown) => {
  if (message !== 'heap') return
  globalThis.gc?.()
  process.send?.({ heapBytes: process.memoryUsage().heapUsed })
})
process.on('disconnect', () => void close())

async function close(): Promise<void> {
  await server.close()
  await skep.close()
  await store.close()
  process.exit()
}
