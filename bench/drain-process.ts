/** A worker process: runs no-op jobs until it has seen none for a while, and tells when its first and last ran. */
import type { Address } from './contest.ts'
import { open, QUEUES } from './open.ts'

const { address, queue, concurrency } = JSON.parse(process.argv[2] as string) as {
  address: Address
  queue: keyof typeof QUEUES
  concurrency: number
}

let ran = 0
let first = 0
let last = 0
const skep = open(address)
await skep.ready()
process.send?.({ ready: true })
await new Promise((resolve) => process.once('message', resolve))
const worker = skep.worker(
  [
    QUEUES[queue].handle(() => {
      last = performance.now()
      if (ran++ === 0) first = last
    }),
  ],
  { concurrency },
)
await worker.ready

let seen = -1
while (seen !== ran || ran === 0) {
  seen = ran
  await new Promise((resolve) => setTimeout(resolve, 500))
}
await worker.stop()
const cpu = process.cpuUsage()
process.send?.({
  ran,
  ms: last - first,
  rssMb: Math.round(process.memoryUsage.rss() / 1e6),
  cpuMicros: (cpu.user + cpu.system) / Math.max(1, ran),
})
await skep.close()
process.disconnect?.()
