import type { Payload } from '../contest.ts'
import type { FlowLine } from '../line.ts'
import { type FlowShape, jobsOf, waits } from './shape.ts'

/** The part of BullMQ's flows that is called here. */
export interface BullFlows {
  readonly FlowProducer: new (
    options: object,
    backend?: unknown,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): unknown
    waitUntilReady(): Promise<unknown>
    addBulk(flows: readonly FlowNode[]): Promise<unknown>
  }
}

/** A job that runs after its children. */
interface FlowNode {
  readonly name: string
  readonly queueName: string
  readonly data: Payload
  readonly children?: readonly FlowNode[]
}

export interface BullFlowJob {
  readonly data: Payload
  /** What its children returned. */
  getChildrenValues(): Promise<Readonly<Record<string, number>>>
}

interface Parts {
  readonly bullmq: BullFlows
  readonly connection: object
  readonly backend: unknown
  readonly queue: string
  readonly shape: FlowShape
  work(concurrency: number, run: (job: BullFlowJob) => Promise<number>): Promise<() => Promise<void>>
}

export async function bullFlows({
  bullmq,
  connection,
  backend,
  queue,
  shape,
  work,
}: Parts): Promise<FlowLine> {
  const producer = new bullmq.FlowProducer({ connection }, backend)
  producer.on('error', console.error)
  await producer.waitUntilReady()

  return {
    // About a thousand jobs, as with jobs without flows.
    perCall: Math.max(1, Math.floor(1_000 / shape.size)),
    callers: 2,
    make: (flows) => producer.addBulk(flows.map((flow) => treeOf(shape, queue, flow))),
    work: (concurrency, handle) =>
      work(concurrency, async (job) =>
        handle(job.data, waits(shape, job.data.n) ? Object.values(await job.getChildrenValues()) : []),
      ),
  }
}

/** The last job of a flow is the root. */
function treeOf(shape: FlowShape, queueName: string, flow: number): FlowNode {
  const nodes = jobsOf(shape, flow).map((data): FlowNode => ({ name: 'job', queueName, data }))
  if (shape.kind === 'chain') return nodes.reduce((before, node) => ({ ...node, children: [before] }))
  return { ...(nodes.at(-1) as FlowNode), children: nodes.slice(0, -1) }
}
