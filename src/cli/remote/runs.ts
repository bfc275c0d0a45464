import type { Explanation, FlowSummary, RunMembers, RunStatus, RunView } from '../../index.ts'
import type { Counterpart } from '../connect/backend.ts'
import { ask, askOrNull, type Line } from './ask.ts'

type Runs = Counterpart['runs']

/** The runs of flows, as a server tells of them. */
export class RemoteRuns implements Runs {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  async get(id: string): Promise<RunView | null> {
    return (await this.#detail(id))?.run ?? null
  }

  list({ attributes, flow, cursor, ...rest }: Parameters<Runs['list']>[0] = {}): ReturnType<Runs['list']> {
    const [attribute] = Object.entries(attributes ?? {})
    return ask(this.#line, 'runs.list', {
      ...rest,
      ...(flow === undefined ? {} : { flow: typeof flow === 'string' ? flow : flow.name }),
      ...(cursor === undefined || cursor === null ? {} : { cursor }),
      ...(attribute === undefined ? {} : { attribute: attribute.join('=') }),
    })
  }

  async flows({ name }: { readonly name?: string } = {}): Promise<FlowSummary> {
    const { flows, isAll } = await ask<FlowSummary, 'flows.list'>(this.#line, 'flows.list', {})
    return { flows: flows.filter((flow) => name === undefined || flow.name === name), isAll }
  }

  async counts({ status }: Parameters<Runs['counts']>[0] = {}): ReturnType<Runs['counts']> {
    const { flows, isAll } = await this.flows()
    const counts = flows.flatMap(({ name, version, runs }) =>
      (Object.entries(runs) as [RunStatus, number][])
        .filter(([one, many]) => many > 0 && (status === undefined || one === status))
        .map(([one, many]) => ({ flow: name, version, status: one, runs: many })),
    )
    return { counts, isAll }
  }

  run(id: string): ReturnType<Runs['run']> {
    const { client } = this.#line
    return {
      explain: () => ask<Explanation, 'jobs.explain'>(this.#line, 'jobs.explain', { id }),
      members: async () => (await this.#detail(id))?.members ?? { open: [], failed: [] },
      signal: async (name, value) =>
        (await client.call('runs.signal', { id, name, value: value ?? null })).changed,
      cancel: async (reason) =>
        (await client.call('runs.cancel', { id, ...(reason === undefined ? {} : { reason }) })).changed,
      retry: async (options) => (await client.call('runs.retry', { id, ...options })).changed,
    }
  }

  #detail(id: string): Promise<{ readonly run: RunView; readonly members: RunMembers } | null> {
    return askOrNull(this.#line, 'runs.get', { id })
  }
}
