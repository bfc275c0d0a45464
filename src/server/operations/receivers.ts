import { id, nothing } from '../inputs.ts'
import { all, moment, object, oneOf } from '../schema.ts'
import { count, momentOrNull, said, saidOrNull } from '../shapes.ts'
import { notFound, sees } from '../visible.ts'
import { operation, type ServerOperation } from './define.ts'

export const receiversList: ServerOperation<'receivers.list'> = operation({
  name: 'receivers.list',
  method: 'GET',
  path: '/receivers',
  summary: 'Who streams jobs from this server, with what each has not answered yet.',
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
        acked: count,
        nacked: count,
        connectedAt: moment(),
        lastAckAt: momentOrNull,
      }),
    ),
  }),
  async run(_input, { skep, caller, services }) {
    const all = await services.receivers.list(skep.space)
    return { receivers: all.filter(({ queues }) => queues.every((queue) => sees(caller, queue))) }
  },
})

export const receiversClose: ServerOperation<'receivers.close'> = operation({
  name: 'receivers.close',
  method: 'DELETE',
  path: '/receivers/:id',
  summary: 'Ends a stream. What it has not answered is free for others at once.',
  scope: 'operate',
  input: object({ id: id('a receiver') }),
  output: nothing,
  target: (input) => `receiver ${input.id}`,
  async run(input, { skep, caller, services }) {
    const found = (await services.receivers.list(skep.space)).find((one) => one.id === input.id)
    const isMine = found?.queues.every((queue) => sees(caller, queue)) ?? false
    if (!isMine || !(await services.receivers.close(skep.space, input.id)))
      throw notFound(`receiver "${input.id}"`)
    return {}
  },
})
