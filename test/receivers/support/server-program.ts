/** A server for receivers in a process of its own, to be killed. Its one argument is JSON: what a program needs, and the port. */
import { consoleLogger } from '../../../src/index.ts'
import { onStop, openProgram, type ProgramConfig, readConfig, tellParent } from '../../crash/program.ts'
import { serveReceivers } from './http.ts'
import { caller, hubOf } from './scene.ts'

const config = readConfig() as ProgramConfig & { readonly port: number }
const { skep, recorder } = openProgram(config)
skep.on('received', ({ job: { id, queue, attempt, payload } }) => {
  const { token, generation } = recorder.leaseOf(id, attempt)
  recorder.write({
    f: 'start',
    type: 'ok',
    id,
    queue,
    token,
    generation,
    attempt,
    payload: JSON.stringify(payload),
  })
})
const hub = hubOf(skep, {
  ackGrace: '2s',
  worker: { lease: config.leaseMs, rescueGrace: config.rescueGraceMs, drain: '1s', grace: '1s' },
})
const server = await serveReceivers(hub, (name) => caller({ name }), config.port)
onStop(async () => {
  await hub.close({ drain: '1s' })
  await server.close()
  await skep.close()
})
await skep.ready().catch((error: unknown) => consoleLogger.error(String(error)))
tellParent({ ready: true })
