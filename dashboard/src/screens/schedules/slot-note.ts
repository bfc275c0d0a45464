import type { SlotPreview } from '../../../../src/operations/schema/wire-types.ts'

/** The local time without the date: "02:30". */
function clockOf({ local }: Pick<SlotPreview, 'local'>): string {
  return /\d\d:\d\d/.exec(local)?.[0] ?? local
}

/** The local time of most slots; null if there is no such time. */
function usualClock(slots: readonly SlotPreview[]): string | null {
  const counts = new Map<string, number>()
  for (const slot of slots) counts.set(clockOf(slot), (counts.get(clockOf(slot)) ?? 0) + 1)
  const [best] = [...counts].sort((a, b) => b[1] - a[1])
  return best !== undefined && best[1] > 1 && best[1] * 2 >= slots.length ? best[0] : null
}

/** Schedules this frequent keep their interval across a clock change. */
const FREQUENT_MS = 3 * 3_600_000

function isFrequent(slots: readonly SlotPreview[]): boolean {
  return slots.some(({ at }, index) => {
    const before = slots[index - 1]
    return before !== undefined && Date.parse(at) - Date.parse(before.at) < FREQUENT_MS
  })
}

/** Explains how a daylight saving change affects a slot. */
export function noteText(
  slot: SlotPreview,
  slots: readonly SlotPreview[],
  zone: string | null,
): string | null {
  if (zone === null || slot.note === null) return null
  const clock = clockOf(slot)
  const frequent = isFrequent(slots)
  switch (slot.note) {
    case 'comes-twice':
      return `Clocks go back: ${clock} occurs twice that night.${frequent ? '' : ' It fires once.'}`
    case 'clocks-back':
      return frequent
        ? 'Clocks go back before this slot.'
        : 'Clocks go back before this slot, so the interval is one hour longer.'
    case 'clocks-forward': {
      if (frequent) return 'Clocks go forward before this slot.'
      const usual = usualClock(slots)
      return usual !== null && usual !== clock
        ? `Clocks go forward: ${usual} does not exist that night. It fires at ${clock}.`
        : 'Clocks go forward before this slot, so the interval is one hour shorter.'
    }
  }
}
