/** A worker in a process of its own that fires schedules and runs their jobs, to be killed. */
import { once } from 'node:events'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { type Address, ignoreClosed, openStore, tellParent } from './program.ts'

const { address, isParked = false } = JSON.parse(process.argv[2] as string) as {
  readonly address: Address
  /** It begins when it is told to. */
  readonly isParked?: boolean
}
process.on('disconnect', () => process.exit(72))
if (isParked) {
  tellParent({ ready: true })
  await once(process, 'message')
}
const skep = createSkep({ store: openStore(address), logger: silentLogger })
const worker = skep.worker([queue('slots').handle(() => null)], {
  concurrency: 50,
  lease: '2s',
  rescueGrace: '1s',
})
process.once('SIGTERM', () => {
  skep.close().then(
    () => process.exit(0),
    () => process.exit(71),
  )
})
await worker.ready.catch(ignoreClosed)
tellParent(isParked ? { fires: true } : { ready: true })
