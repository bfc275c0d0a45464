/** A server in a process of its own, which tells how much memory it uses. Its one argument is JSON. */
import { createSkep, queue, silentLogger } from '../../../src/index.ts'
import { createServer } from '../../../src/server.ts'
import { sqliteStore } from '../../../src/sqlite.ts'

const { file, jobs, jobBytes, totalBytes } = JSON.parse(process.argv[2] as string) as {
  readonly file: string
  readonly jobs: number
  readonly jobBytes: number
  readonly totalBytes: number
}
// In a file, so that what is in memory is what receivers have been given.
const skep = createSkep({ store: sqliteStore({ file }), logger: silentLogger })
const mail = queue<string>('mail')
for (let n = 0; n < jobs; n += 500) {
  await skep.enqueueMany(
    mail,
    Array.from({ length: Math.min(500, jobs - n) }, (_, m) => `${n + m}${'y'.repeat(jobBytes)}`),
  )
}
const server = createServer(skep, {
  logger: silentLogger,
  receivers: { totalBytes, receivers: 2_000, receiversPerCaller: 2_000, slowAfter: '10m' },
})
const { url } = await server.listen({ port: 0 })

process.on('message', () => void look())

async function look(): Promise<void> {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  const receivers = await server.core.hub.list('default')
  process.send?.({
    memory: heapUsed + external,
    receivers: receivers.length,
    held: receivers.reduce((sum, { unackedBytes }) => sum + unackedBytes, 0),
  })
}
process.send?.({ url })
