import type { SlotPreview } from '../../../../src/operations/schema/wire-types.ts'

/** The time on the wall, without the day: "02:30". */
function clockOf({ local }: Pick<SlotPreview, 'local'>): string {
  return /\d\d:\d\d/.exec(local)?.[0] ?? local
}

/** The time at which most of the slots are; null if they are at many. */
function usualClock(slots: readonly SlotPreview[]): string | null {
  const counts = new Map<string, number>()
  for (const slot of slots) counts.set(clockOf(slot), (counts.get(clockOf(slot)) ?? 0) + 1)
  const [best] = [...counts].sort((a, b) => b[1] - a[1])
  return best !== undefined && best[1] > 1 && best[1] * 2 >= slots.length ? best[0] : null
}

/** What runs so often goes on through a change of the clocks as if there were none. */
const OFTEN_MS = 3 * 3_600_000

function isOften(slots: readonly SlotPreview[]): boolean {
  return slots.some(({ at }, index) => {
    const before = slots[index - 1]
    return before !== undefined && Date.parse(at) - Date.parse(before.at) < OFTEN_MS
  })
}

/** Why a slot is not where one would look for it, or what the clocks do around it. */
export function noteText(
  slot: SlotPreview,
  slots: readonly SlotPreview[],
  zone: string | null,
): string | null {
  if (zone === null || slot.note === null) return null
  const clock = clockOf(slot)
  const often = isOften(slots)
  switch (slot.note) {
    case 'comes-twice':
      return `Clocks go back: ${clock} comes twice that night.${often ? '' : ' It runs once.'}`
    case 'clocks-back':
      return often
        ? 'Clocks go back before this run.'
        : 'Clocks go back before this run, so it comes an hour later than the ones before.'
    case 'clocks-forward': {
      if (often) return 'Clocks go forward before this run.'
      const usual = usualClock(slots)
      return usual !== null && usual !== clock
        ? `Clocks go forward: ${usual} does not exist that night. It runs at ${clock}.`
        : 'Clocks go forward before this run, so it comes an hour sooner than the ones before.'
    }
  }
}
