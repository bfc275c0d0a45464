import { createHash } from 'node:crypto'

/**
 * The group that waits for a signal for the nth time. Its id follows from what it waits for, so that whoever sends the
 * signal can be earlier than the run.
 */
export function signalGroup(run: string, name: string, nth: number): string {
  return idOf(`${run}\n${nth}\n${name}`)
}

/** The job that begins a run whose id somebody chose. It follows from that, so that a second start is the same job. */
export function beginJob(run: string): string {
  return idOf(`${run}\nbegin`)
}

/** The group that has a key. It follows from that, so that all who add to it need not tell each other its id. */
export function keyedGroup(space: string, key: string): string {
  return idOf(`${space}\ngroup\n${key}`)
}

function idOf(text: string): string {
  const hash = createHash('sha256').update(text).digest()
  // A UUID of version 8: one that somebody made up.
  hash[6] = ((hash[6] as number) & 0x0f) | 0x80
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}
