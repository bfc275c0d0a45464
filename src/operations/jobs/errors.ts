import type { ErrorGroupView } from '../../index.ts'
import { notFound, seen, sees } from '../authorize/authorize-output.ts'
import { scopedQuery } from '../authorize/scoped-query.ts'
import { type Context, operation } from '../operation.ts'
import { duration, durationOf, id, paged, queueName } from '../schema/inputs.ts'
import { bulk, type ErrorGroup, errorGroup, nextPage } from '../schema/outputs.ts'
import { all, flag, object, optional } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'

export const errorsList = operation({
  name: 'errors.list',
  method: 'GET',
  path: '/errors',
  summary: 'Lists errors grouped by cause, latest first.',
  scope: 'read',
  input: object({
    ...paged,
    queue: optional(queueName),
    muted: optional(flag('True: only muted groups; false: only others.')),
  }),
  output: object({ groups: all(errorGroup), cursor: nextPage }),
  queuesOf: ({ queue }) => (queue === undefined ? [] : [queue]),
  async run(input, context) {
    const page = await context.skep.errors.list(input)
    const mine = page.groups.filter(({ queue }) => sees(context.caller, queue))
    return { groups: mine.map((one) => shown(context, one)), cursor: page.cursor }
  },
})

export const errorsGet = operation({
  name: 'errors.get',
  method: 'GET',
  path: '/errors/:id',
  summary: 'Returns a group of errors.',
  scope: 'read',
  input: object({ id: id('a group of errors') }),
  output: errorGroup,
  run: async (input, context) => shown(context, await visible(context, input.id)),
})

export const errorsRetry = operation({
  name: 'errors.retry',
  method: 'POST',
  path: '/errors/:id/retry',
  summary: 'Retries all dead and failed jobs of the group, as a bulk action.',
  scope: 'operate',
  input: object({ id: id('a group of errors') }),
  output: bulk,
  target: (input) => `error group ${input.id}`,
  async run(input, context) {
    const { skep, caller } = context
    const group = await visible(context, input.id)
    const query = scopedQuery(caller, `state:dead,failed error.group:${group.id}`)
    const name = `Retry: ${group.name}`.slice(0, 200)
    return toWire(await skep.bulk.start({ action: 'retry', query, name, by: caller.name }))
  },
})

export const errorsMute = operation({
  name: 'errors.mute',
  method: 'POST',
  path: '/errors/:id/mute',
  summary: 'Mutes a group, for a duration or until it is unmuted.',
  scope: 'operate',
  input: object({ id: id('a group of errors'), for: optional(duration) }),
  output: errorGroup,
  target: (input) => `error group ${input.id}`,
  async run(input, context) {
    await visible(context, input.id)
    const options = {
      by: context.caller.name,
      ...(input.for === undefined ? {} : { for: durationOf('for', input.for) }),
    }
    return shown(context, present(input.id, await context.skep.errors.mute(input.id, options)))
  },
})

export const errorsUnmute = operation({
  name: 'errors.unmute',
  method: 'POST',
  path: '/errors/:id/unmute',
  summary: 'Unmutes a group.',
  scope: 'operate',
  input: object({ id: id('a group of errors') }),
  output: errorGroup,
  target: (input) => `error group ${input.id}`,
  async run(input, context) {
    await visible(context, input.id)
    return shown(context, present(input.id, await context.skep.errors.unmute(input.id)))
  },
})

async function visible({ skep, caller }: Context, one: string): Promise<ErrorGroupView> {
  return seen(caller, `group of errors "${one}"`, await skep.errors.get(one))
}

function present(one: string, group: ErrorGroupView | null): ErrorGroupView {
  if (group === null) throw notFound(`group of errors "${one}"`)
  return group
}

function shown({ services: { redactor } }: Context, group: ErrorGroupView): ErrorGroup {
  const { message, sampleStack } = group
  return toWire({
    ...group,
    message: redactor.text(message),
    sampleStack: sampleStack === null ? null : redactor.text(sampleStack),
  })
}
