import { createHash } from 'node:crypto'
import { RUN_GROUP_VERSION } from '../core/flows/runs.ts'

/**
 * The group that waits for a signal for the nth time. Its id follows from what it waits for, so that whoever sends the
 * signal can be earlier than the run.
 */
export function signalGroup(run: string, name: string, nth: number): string {
  return idOf(`${run}\n${nth}\n${name}`)
}

/**
 * The job that begins a run whose id the caller chose. It follows from that, so that a second start is the same job; and from the
 * flow's queue, so that a start of another version is no job with a taken id: its job finds the run waiting for another and ends.
 */
export function beginJob(run: string, queue: string): string {
  return idOf(`${run}\nbegin\n${queue}`)
}

/** An id for a group that a run waits for: see {@link RUN_GROUP_VERSION}. */
export function runGroup(uuid: string): string {
  return `${uuid.slice(0, 14)}${RUN_GROUP_VERSION}${uuid.slice(15)}`
}

/** The group that has a key. It follows from that, so that all who add to it need not tell each other its id. */
export function keyedGroup(space: string, key: string): string {
  return idOf(`${space}\ngroup\n${key}`, NAMED_VERSION)
}

/** As of names by the standard. No run waits for such a group. */
const NAMED_VERSION = '5'

function idOf(text: string, version = RUN_GROUP_VERSION): string {
  const hash = createHash('sha256').update(text).digest()
  hash[6] = ((hash[6] as number) & 0x0f) | (Number(version) << 4)
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}
