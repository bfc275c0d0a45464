import { notFound, sees } from './authorize/authorize-output.ts'
import { type Context, operation, type ServerOperation } from './operation.ts'
import { id, nothing } from './schema/inputs.ts'
import { count, momentOrNull, said, saidOrNull } from './schema/outputs.ts'
import { all, moment, object, oneOf } from './schema/schema.ts'
import type { ReceiverSummary } from './schema/wire-types.ts'

export const receiversList: ServerOperation<'receivers.list'> = operation({
  name: 'receivers.list',
  method: 'GET',
  path: '/receivers',
  summary: 'Receivers of this server with their unacknowledged jobs.',
  scope: 'read',
  input: nothing,
  output: object({
    receivers: all(
      object({
        id: said,
        name: said,
        address: said,
        protocol: oneOf(['grpc', 'http', 'poll']),
        queues: all(said),
        keys: saidOrNull,
        credits: count,
        unacked: count,
        unackedBytes: count,
        oldestAt: momentOrNull,
        acked: count,
        nacked: count,
        connectedAt: moment(),
        lastAckAt: momentOrNull,
      }),
    ),
  }),
  run: async (_input, context) => ({ receivers: await receiversOf(context) }),
})

/** Those that the caller sees: whose queues are all its own. */
export async function receiversOf({ skep, caller, services }: Context): Promise<readonly ReceiverSummary[]> {
  const found = await services.receivers.list(skep.space)
  return found.filter(({ queues }) => queues.every((queue) => sees(caller, queue)))
}

export const receiversClose: ServerOperation<'receivers.close'> = operation({
  name: 'receivers.close',
  method: 'DELETE',
  path: '/receivers/:id',
  summary: 'Closes a receiver. Its unacknowledged jobs are released at once.',
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
