/** Encodes hints as one message. Any client of the server may send one, so nothing in it is trusted. */
import type { Hint } from '../../notifier/notifier.ts'

export interface Letter {
  readonly sender: string
  readonly hints: readonly Hint[]
}

/** Encodes these hints as one message; above the maximum size as a sync. */
export function writeLetter(sender: string, hints: readonly Hint[], mostBytes: number): string {
  const text = JSON.stringify([sender, ...hints.map(toTuple)])
  return Buffer.byteLength(text) <= mostBytes ? text : JSON.stringify([sender, ['sync']])
}

/** Decodes a message; null if it is invalid. */
export function readLetter(text: string, mostBytes: number): Letter | null {
  if (text.length > mostBytes) return null
  try {
    const [sender, ...tuples] = JSON.parse(text) as unknown[]
    if (typeof sender !== 'string') return null
    return { sender, hints: tuples.map(toHint).filter((hint) => hint !== null) }
  } catch {
    return null
  }
}

function toTuple(hint: Hint): readonly unknown[] {
  switch (hint.kind) {
    case 'work':
      return ['work', hint.space, hint.queue, hint.dueAt, hint.rank]
    case 'settled':
    case 'watch':
    case 'noted':
      return [hint.kind, hint.space, hint.queue]
    case 'cancel':
      return ['cancel', hint.space, ...hint.ids]
    case 'schedules':
    case 'commands':
      return [hint.kind, hint.space]
    case 'recall':
      return ['recall', hint.space, hint.queue, hint.lane]
    case 'sync':
      return ['sync']
  }
}

function toHint(tuple: unknown): Hint | null {
  if (!Array.isArray(tuple)) return null
  const [kind, space, queue, dueAt, rank] = tuple as unknown[]
  if (kind === 'sync') return { kind }
  if (kind === 'recall') {
    const lane = dueAt
    return isTextOrNull(space) && isTextOrNull(queue) && isTextOrNull(lane)
      ? { kind, space, queue, lane }
      : null
  }
  if (typeof space !== 'string') return null
  if (kind === 'cancel') {
    return { kind, space, ids: tuple.slice(2).filter((id): id is string => typeof id === 'string') }
  }
  if (kind === 'schedules' || kind === 'commands') return { kind, space }
  if (typeof queue !== 'string') return null
  if (kind === 'settled' || kind === 'watch' || kind === 'noted') return { kind, space, queue }
  if (kind !== 'work' || !Number.isSafeInteger(dueAt) || !Number.isSafeInteger(rank)) return null
  return { kind, space, queue, dueAt: dueAt as number, rank: rank as number }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
