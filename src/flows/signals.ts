import { createHash } from 'node:crypto'
import { RUN_GROUP_VERSION } from '../core/flows/runs.ts'

/**
 * The group that waits for a signal for the nth time. Its id is derived, so a signal may precede the wait.
 */
export function signalGroup(run: string, name: string, nth: number): string {
  return idOf(`${run}\n${nth}\n${name}`)
}

/**
 * The job that starts a run with a given id. Its id is derived from that id, so a second start is the same
 * job; and from the flow's queue, so a start of another version does not collide: its job finds the run
 * waiting for another job and ends.
 */
export function beginJob(run: string, queue: string): string {
  return idOf(`${run}\nbegin\n${queue}`)
}

/** The id of a group that a run waits for: see {@link RUN_GROUP_VERSION}. */
export function runGroup(uuid: string): string {
  return `${uuid.slice(0, 14)}${RUN_GROUP_VERSION}${uuid.slice(15)}`
}

/** The group with a key. Its id is derived from it, so that callers can add to it without exchanging ids. */
export function keyedGroup(space: string, key: string): string {
  return idOf(`${space}\ngroup\n${key}`, NAMED_VERSION)
}

/** The standard version of name-based UUIDs. No run waits for such a group. */
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
