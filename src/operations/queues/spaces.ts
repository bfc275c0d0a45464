import type { SpaceView } from '../../index.ts'
import { maySpace } from '../authorize/authorize.ts'
import { operation } from '../operation.ts'
import { nothing } from '../schema/inputs.ts'
import { count, said } from '../schema/outputs.ts'
import { all, object, type Schema } from '../schema/schema.ts'

const space: Schema<SpaceView> = object({
  space: said,
  queues: count,
  waiting: count,
  running: count,
  finished: count,
  dead: count,
})

export const spacesList = operation({
  name: 'spaces.list',
  method: 'GET',
  path: '/spaces',
  summary: 'Lists the spaces that have jobs, with their numbers, as far as the caller may use them.',
  scope: 'admin',
  input: nothing,
  output: object({ spaces: all(space) }),
  // The counts are of all queues.
  queuesOf: () => ['*'],
  async run(_input, { skep, caller }) {
    return { spaces: (await skep.spaces()).filter((one) => maySpace(caller, one.space)) }
  },
})
