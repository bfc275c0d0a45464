import { isOpen, NEEDS_ALL, type NewGroup, OPEN } from '../../../../src/core/flows/groups.ts'
import type { FlowHistory } from '../../flows/history.ts'

/** A group as it was then: an open one has members and needs them when it is sealed, and not before. */
export function asAt(
  { seals, members }: Pick<FlowHistory, 'seals' | 'members'>,
  made: NewGroup,
  place: number,
): NewGroup {
  if (!isOpen(made)) return made
  const seal = seals.get(made.id)
  if (seal === undefined || seal.n > place) return { ...made, size: OPEN - (members.get(made.id)?.size ?? 0) }
  return { ...made, size: seal.size, need: made.need === NEEDS_ALL ? seal.size : made.need }
}
