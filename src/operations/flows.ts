import type { RunView } from '../index.ts'
import {
  notFound,
  sees,
  seesAll,
  shownExplanation,
  shownMember,
  shownRun,
} from './authorize/authorize-output.ts'
import { type Context, operation } from './operation.ts'
import { id, nothing, paged, reason } from './schema/inputs.ts'
import {
  explanation,
  flow,
  group,
  members,
  nextPage,
  run,
  said,
  saidOrNull,
  status,
} from './schema/outputs.ts'
import { all, flag, invalid, json, nullable, object, optional, text, whole } from './schema/schema.ts'
import { toWire } from './schema/serialize.ts'

export const flowsList = operation({
  name: 'flows.list',
  method: 'GET',
  path: '/flows',
  summary: 'Lists flows with the number of runs in each status.',
  scope: 'read',
  input: nothing,
  output: object({
    flows: all(flow),
    isAll: flag('False if only the newest runs were counted.'),
  }),
  async run(_input, { skep, caller }) {
    const { flows, isAll } = await skep.runs.flows()
    return toWire({ flows: flows.filter(({ name }) => sees(caller, name)), isAll })
  },
})

export const runsList = operation({
  name: 'runs.list',
  method: 'GET',
  path: '/runs',
  summary: 'Lists runs of flows, newest first.',
  scope: 'read',
  input: object({
    ...paged,
    flow: optional(text({ min: 1, max: 256 })),
    status: optional(status),
    attribute: optional(text({ max: 1_024, about: 'name=value' })),
    root: optional(text({ min: 1, max: 64, about: 'This run with its branches, and their branches.' })),
  }),
  output: object({ runs: all(run), cursor: nextPage }),
  async run({ attribute, ...input }, context) {
    const { skep, caller } = context
    const page = await skep.runs.list({
      ...input,
      ...(attribute === undefined ? {} : { attributes: attributesOf(attribute) }),
    })
    const mine = page.runs.filter((one) => sees(caller, one.flow))
    const runs = await context.services.turns.map(mine, (one) => toWire(shownRun(context, one)))
    return { runs, cursor: page.cursor }
  },
})

function attributesOf(attribute: string): Readonly<Record<string, string>> {
  const at = attribute.indexOf('=')
  if (at <= 0) throw invalid('attribute', 'of the form name=value')
  return { [attribute.slice(0, at)]: attribute.slice(at + 1) }
}

export const runsGet = operation({
  name: 'runs.get',
  method: 'GET',
  path: '/runs/:id',
  summary: 'Returns a run with its position, what it waits for, and its branches.',
  scope: 'read',
  input: object({
    id: id('a run'),
    members: optional(whole({ min: 1, max: 200, about: 'The most members to list.' })),
  }),
  output: object({
    run,
    flow: nullable(flow),
    members,
    branches: all(object({ id: said, name: said, status, step: saidOrNull })),
    explanation,
  }),
  async run(input, context) {
    const { skep } = context
    const one = await visibleRun(context, input.id)
    const [{ flows }, waitsFor, branches, explained] = await Promise.all([
      skep.runs.flows({ name: one.flow }),
      skep.runs.members(one.id, input.members === undefined ? {} : { limit: input.members }),
      skep.runs.branches(one.id),
      skep.runs.explain(one.id),
    ])
    const steps = await Promise.all(
      branches.map(async ({ run: branch }) => (await branch.get())?.position.step ?? null),
    )
    return {
      run: toWire(shownRun(context, one)),
      flow: toWire(flows.find(({ version }) => version === one.version) ?? null),
      members: toWire({
        open: waitsFor.open.map((one) => shownMember(context, one)),
        failed: waitsFor.failed.map((one) => shownMember(context, one)),
      }),
      branches: branches.map((branch, index) => ({
        id: branch.id,
        name: branch.name,
        status: branch.status,
        step: steps[index] ?? null,
      })),
      explanation: toWire(shownExplanation(context, explained)),
    }
  },
})

const moved = object({ changed: flag() })

export const runsCancel = operation({
  name: 'runs.cancel',
  method: 'POST',
  path: '/runs/:id/cancel',
  summary: 'Cancels a run and everything that it waits for.',
  scope: 'operate',
  input: object({ id: id('a run'), reason: optional(reason) }),
  output: moved,
  target: (input) => `run ${input.id}`,
  async run(input, context) {
    await visibleRun(context, input.id)
    return {
      changed: await context.skep.runs.cancel(
        input.id,
        input.reason ?? `Cancelled by ${context.caller.name}.`,
      ),
    }
  },
})

export const runsRetry = operation({
  name: 'runs.retry',
  method: 'POST',
  path: '/runs/:id/retry',
  summary: 'Retries a failed run from the failed step or an earlier one.',
  scope: 'operate',
  input: object({
    id: id('a run'),
    from: optional(text({ min: 1, max: 256, about: 'The name of a step.' })),
  }),
  output: moved,
  target: (input) => `run ${input.id}${input.from === undefined ? '' : ` from step ${input.from}`}`,
  async run(input, context) {
    await visibleRun(context, input.id)
    return { changed: await context.skep.runs.retry(input.id, input.from) }
  },
})

export const runsSignal = operation({
  name: 'runs.signal',
  method: 'POST',
  path: '/runs/:id/signal',
  summary: 'Sends a signal to a run.',
  scope: 'operate',
  input: object({
    id: id('a run'),
    name: text({ min: 1, max: 256 }),
    value: optional(json('The value of the signal.')),
  }),
  output: moved,
  target: (input) => `signal ${input.name} to run ${input.id}`,
  async run(input, context) {
    await visibleRun(context, input.id)
    return { changed: await context.skep.runs.signal(input.id, input.name, input.value ?? null) }
  },
})

export const groupsGet = operation({
  name: 'groups.get',
  method: 'GET',
  path: '/groups/:id',
  summary: 'Returns a group of jobs with the number of jobs that have ended.',
  scope: 'read',
  input: object({ id: id('a group') }),
  output: group,
  async run(input, { skep, caller }) {
    // A group has no queue of its own, so only those who see all queues see it.
    const found = seesAll(caller) ? await skep.groups.get(input.id) : null
    if (found === null) throw notFound(`group "${input.id}"`)
    return toWire(found)
  },
})

/** A run whose flow the caller sees: the patterns of queues count for the names of flows too. */
async function visibleRun({ skep, caller }: Context, one: string): Promise<RunView> {
  const found = await skep.runs.get(one)
  if (found === null || !sees(caller, found.flow)) throw notFound(`run "${one}"`)
  return found
}
