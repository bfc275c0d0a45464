import { notFound, sees } from './authorize/authorize-output.ts'
import { type Context, operation } from './operation.ts'
import { id, nothing } from './schema/inputs.ts'
import { type ReceiverSummary, receiver } from './schema/outputs.ts'
import { all, object } from './schema/schema.ts'

export const receiversList = operation({
  name: 'receivers.list',
  method: 'GET',
  path: '/receivers',
  summary: 'Lists the receivers of this server, with their unacknowledged jobs.',
  scope: 'read',
  input: nothing,
  output: object({ receivers: all(receiver) }),
  run: async (_input, context) => ({ receivers: await receiversOf(context) }),
})

/** Those that the caller sees: whose queues are all its own. */
export async function receiversOf({ skep, caller, services }: Context): Promise<readonly ReceiverSummary[]> {
  const found = await services.receivers.list(skep.space)
  return found.filter(({ queues }) => queues.every((queue) => sees(caller, queue)))
}

export const receiversClose = operation({
  name: 'receivers.close',
  method: 'DELETE',
  path: '/receivers/:id',
  summary: 'Closes a stream. Its unacknowledged jobs become available at once.',
  scope: 'operate',
  input: object({ id: id('a receiver') }),
  output: nothing,
  target: (input) => `receiver ${input.id}`,
  async run(input, context) {
    const { skep, services } = context
    const isMine = (await receiversOf(context)).some((one) => one.id === input.id)
    if (!isMine || !(await services.receivers.close(skep.space, input.id)))
      throw notFound(`receiver "${input.id}"`)
    return {}
  },
})
