import { operation } from '../operation.ts'
import { nothing, SCOPES } from '../schema/inputs.ts'
import { said, saidOrNull } from '../schema/outputs.ts'
import { all, either, exactly, flag, nullable, object, oneOf } from '../schema/schema.ts'

export const meGet = operation({
  name: 'me.get',
  method: 'GET',
  path: '/me',
  summary: 'Returns the caller, its permissions, and the settings of this server.',
  scope: 'read',
  input: nothing,
  output: object({
    name: said,
    scopes: all(oneOf(SCOPES)),
    space: said,
    spaces: nullable(either(exactly('*'), all(said))),
    queues: all(said),
    payloads: flag(),
    environment: saidOrNull,
    version: said,
    traceUrl: saidOrNull,
  }),
  async run(_input, { caller, services, skep }) {
    const { environment, version, traceUrl } = services.about
    return {
      name: caller.name,
      scopes: SCOPES.filter((scope) => caller.scopes.has(scope)),
      space: skep.space,
      spaces: caller.spaces,
      queues: caller.queues,
      payloads: caller.payloads,
      environment,
      version,
      traceUrl,
    }
  },
})
