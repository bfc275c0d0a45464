/** A worker in a process of its own. It tells its parent when it takes jobs; SIGTERM stops it as a deploy would. */
import { recordEvents } from '../proof/recorder.ts'
import { ignoreClosed, onStop, openProgram, readConfig, tellParent } from './program.ts'
import { recordedHandlers } from './workload.ts'

const config = readConfig()
const { skep, recorder } = openProgram(config)
recordEvents(recorder, skep)
const worker = skep.worker(recordedHandlers(recorder), {
  concurrency: config.concurrency,
  lease: config.leaseMs,
  rescueGrace: config.rescueGraceMs,
  drain: '3s',
  grace: '1s',
})
onStop(async () => {
  recorder.write({ f: 'stop', type: 'invoke', workerId: worker.id })
  await worker.stop()
  recorder.write({ f: 'stop', type: 'ok', workerId: worker.id })
  await skep.close()
})
await worker.ready.catch(ignoreClosed)
tellParent({ ready: true })
