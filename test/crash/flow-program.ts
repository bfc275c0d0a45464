/** A worker for flows in a process of its own. It kills itself at the point that it is told, or waits to be killed. */
import { join } from 'node:path'
import { createSkep, type Store, silentLogger } from '../../src/index.ts'
import type { FlowProgramConfig, Point } from './flow-points.ts'
import { markedHandlers, markSink, SHAPES, type Task } from './flow-workload.ts'
import { ignoreClosed, onStop, openStore, tellParent } from './program.ts'

const config = JSON.parse(process.argv[2] as string) as FlowProgramConfig
const mark = markSink(join(config.marks, `${config.proc}.jsonl`))
const store = mortal(openStore(config.address, config.leaseMs), config.dies)
const skep = createSkep({ store, logger: silentLogger })
skep.on('finished', ({ job }) => {
  const { of, step, n } = job.payload as Task
  if (of !== undefined) mark({ what: 'saved', id: job.id, of, step, n })
})
const flows = Object.values(SHAPES).map(({ flow }) => flow)
const worker = skep.worker([...flows, ...markedHandlers(mark)], {
  concurrency: 20,
  lease: config.leaseMs,
  rescueGrace: 300,
  drain: '3s',
  grace: '1s',
})
onStop(async () => {
  await worker.stop()
  await skep.close()
})
await worker.ready.catch(ignoreClosed)
tellParent({ ready: true })

/** The store, until this process has come to its point. */
function mortal(inner: Store, dies: FlowProgramConfig['dies']): Store {
  let left = dies?.nth ?? 0
  const at = (point: Point, isThere: boolean): void => {
    if (isThere && dies?.point === point && --left <= 0) process.kill(process.pid, 'SIGKILL')
  }
  const movesRuns = ({ queue }: { readonly queue: string }): boolean => queue.startsWith('flow')
  return {
    ...inner,
    async settle(call) {
      const isMove = call.settlements.some(({ move }) => move !== undefined)
      const isEnd = call.settlements.some(({ move, verdict }) => move === undefined && verdict.to === 'done')
      at('before move', isMove)
      at('before settle', isEnd)
      const reply = await inner.settle(call)
      at('after move', isMove)
      at('after settle', isEnd)
      at('after fire', isEnd && (reply.enqueued ?? []).some(movesRuns))
      at('after claim', (reply.claimed?.jobs ?? []).some(movesRuns))
      return reply
    },
    async claim(call) {
      const reply = await inner.claim(call)
      at('after claim', reply.jobs.some(movesRuns))
      return reply
    },
    async openMembers(call) {
      const reply = await inner.openMembers(call)
      at('before cancel', reply.members.length > 0)
      return reply
    },
  }
}
