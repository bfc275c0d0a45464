import type { SlotFact } from '../history.ts'
import { entryOf, type Invariant, type View } from './view.ts'

/** I-15: each slot of a schedule has at most one job, exactly one where it must, and there are no other slots. */
export const oneJobPerSlot: Invariant = function* (view) {
  const { slots } = view.facts
  if (slots === undefined) return
  const jobs = jobsBySlot(view)
  for (const [key, ids] of jobs) {
    if (ids.size > 1) {
      const message = `Jobs ${[...ids].join(' and ')} stand for the same slot.`
      yield { invariant: 'I-15', kind: 'slot-duplicate', about: key, message }
    }
  }
  const known = new Set(slots.map(keyOf))
  for (const [key, ids] of jobs) {
    if (!known.has(key)) {
      const message = `Job ${[...ids][0]} stands for a slot that the schedule does not have.`
      yield { invariant: 'I-15', kind: 'unexpected', about: key, message }
    }
  }
  for (const slot of slots) {
    if (slot.required && !jobs.has(keyOf(slot))) {
      yield { invariant: 'I-15', kind: 'slot-missed', about: keyOf(slot), message: 'No job was made for it.' }
    }
  }
}

function jobsBySlot(view: View): Map<string, Set<string>> {
  const jobs = new Map<string, Set<string>>()
  for (const { id, before, after } of view.audit) {
    if (before === null && after?.slot) entryOf(jobs, keyOf(after.slot), () => new Set<string>()).add(id)
  }
  return jobs
}

function keyOf({ schedule, slot }: Pick<SlotFact, 'schedule' | 'slot'>): string {
  return `${schedule} at ${slot}`
}
