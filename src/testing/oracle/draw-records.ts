import { EVERY_SPACE, type NewRecord, type RecordPlace } from '../../store/records.ts'
import type { Random } from '../random.ts'
import type { Step } from './commands.ts'
import { type Draw, SPACES, sampleOf, shuffled } from './draw.ts'

/** Few of everything, so that writers meet. */
const IDS = ['a', 'b', 'B', '~', 'a b', '0'] as const
const REVISIONS = ['1', '2', '3'] as const

/** Something about records. They know nothing of jobs, so nothing of a history has to be remembered for them. */
export function drawRecords({ random, now }: Pick<Draw, 'random' | 'now'>): Step {
  const place: RecordPlace = {
    scope: random.pick([...SPACES, EVERY_SPACE]),
    kind: random.pick(['token', 'tokens']),
  }
  if (random.chance(0.2)) return { do: 'removeRecords', ...place, ids: sampleOf(random, IDS, 3) }
  if (random.chance(0.2)) {
    return {
      do: 'listRecords',
      ...place,
      ...(random.chance(0.5) ? { from: random.pick(IDS) } : {}),
      ...(random.chance(0.5) ? { before: random.pick(IDS) } : {}),
      backwards: random.chance(0.5),
      limit: random.int(1, 4),
    }
  }
  const ids = shuffled(random, IDS).slice(0, random.int(1, 3))
  return { do: 'putRecords', ...place, records: ids.map((id) => drawRecord(random, id, now)) }
}

function drawRecord(random: Random, id: string, now: number): NewRecord {
  const expect = random.pick([undefined, null, ...REVISIONS])
  return {
    id,
    body: random.pick(['{}', '{"a":"é\\"\\\\,{}"}', '[null]']),
    revision: random.pick(REVISIONS),
    expiresAt: random.pick([null, now, now + 1, now + 1_000, now + 3_600_000]),
    ...(expect === undefined ? {} : { expect }),
  }
}
