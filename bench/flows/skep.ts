import type { Flow, Settled, Skep, StepView } from 'skep'
import type { Payload } from '../contest.ts'
import type { FlowLine } from '../line.ts'
import { type FlowShape, jobsOf, waits } from './shape.ts'

type Package = typeof import('skep')

/** There is no call that makes many. */
const CALLERS = 100

/** `groups.chord` and `groups.chain`. */
export function skepGroups({ discard, queue }: Package, skep: Skep, shape: FlowShape): FlowLine {
  const member = queue<Payload, number>('bench', { onSuccess: discard() })
  const parent = queue<Payload, number>('bench.parent', { onSuccess: discard() })

  return {
    perCall: 1,
    callers: CALLERS,
    async make([flow = 0]) {
      const jobs = jobsOf(shape, flow)
      if (shape.kind === 'chain') await skep.groups.chain(jobs.map((job) => member.job(job)))
      else {
        const children = jobs.slice(0, -1).map((job) => member.job(job))
        await skep.groups.chord(children, parent.job(jobs.at(-1) as Payload))
      }
    },
    async work(concurrency, handle) {
      const run = async ({ payload, results }: Running): Promise<number> =>
        handle(payload, waits(shape, payload.n) ? (await results<number>()).map(resultOf) : [])
      const worker = skep.worker([member.handle(run), parent.handle(run)], { concurrency })
      await worker.ready
      return () => worker.stop()
    },
  }
}

interface Running {
  readonly payload: Payload
  readonly results: <Result>() => Promise<readonly Settled<Result>[]>
}

function resultOf(settled: Settled<number>): number {
  if (!settled.ok) throw new Error(`A member was ${settled.state}.`)
  return settled.result
}

type WithResults = Payload & { readonly results?: readonly number[] }

interface State {
  readonly flow: number
  /** What the step before gave. */
  readonly before?: number
}

/** The same as runs of a flow, with a state that is kept and moved on. */
export function skepRuns(built: Package, skep: Skep, shape: FlowShape): FlowLine {
  const { discard, flow, queue } = built
  const step = queue<WithResults, number>('bench', { onSuccess: discard() })
  const parent = queue<WithResults, number>('bench.parent', { onSuccess: discard() })
  const children = flow('children', (f) =>
    f
      .input<State>()
      .each('results', step, ({ state }) => jobsOf(shape, state.flow).slice(0, -1))
      .step(parent, {
        payload: ({ state }) => ({ ...last(shape, state.flow), results: state.results }),
        as: 'end',
      }),
  )
  const nth = (n: number) => ({
    name: `step-${n}`,
    as: 'before' as const,
    payload: ({ state: { flow, before } }: StepView<State>): WithResults => ({
      ...(jobsOf(shape, flow)[n] as Payload),
      ...(before !== undefined && { results: [before] }),
    }),
  })
  const chain = flow('chain', (f) =>
    f
      .input<State>()
      .step(step, nth(0))
      .step(step, nth(1))
      .step(step, nth(2))
      .step(step, nth(3))
      .step(step, nth(4)),
  )
  if (shape.kind === 'chain' && shape.size !== 5) throw new Error('The flow has five steps.')
  const declared: Flow<State> = shape.kind === 'chain' ? chain : children

  return {
    perCall: 1,
    callers: CALLERS,
    make: ([flow = 0]) => skep.start(declared, { flow }),
    async work(concurrency, handle) {
      const run = async ({ payload: { results = [], ...job } }: { payload: WithResults }): Promise<number> =>
        handle(job, results)
      const worker = skep.worker([declared, step.handle(run), parent.handle(run)], { concurrency })
      await worker.ready
      return () => worker.stop()
    },
  }
}

function last(shape: FlowShape, flow: number): Payload {
  return jobsOf(shape, flow).at(-1) as Payload
}
