import type { SlotPreview } from '../../../../src/server/api.ts'

const HOUR_MS = 3_600_000

/** How far the clocks of a zone are before UTC at a moment, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at)
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value)
  const wall = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
  return wall - Math.floor(at / 1_000) * 1_000
}

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

/** Whether this time on the wall comes twice that day, because the clocks go back. */
export function isTwice(zone: string, at: number): boolean {
  const here = offsetAt(zone, at)
  for (const side of [-3 * HOUR_MS, 3 * HOUR_MS]) {
    const other = offsetAt(zone, at + side)
    // Before the change the clocks are further ahead than after it.
    if (side < 0 ? other <= here : other >= here) continue
    if (offsetAt(zone, at + here - other) === other) return true
  }
  return false
}

/** Why a slot is not where one would look for it, or what the clocks do around it. */
export function noteText(
  slot: SlotPreview,
  slots: readonly SlotPreview[],
  zone: string | null,
): string | null {
  if (zone === null) return null
  const clock = clockOf(slot)
  if (isTwice(zone, Date.parse(slot.at)))
    return `Clocks go back: ${clock} comes twice that night. It runs once.`
  if (slot.note === 'clocks-forward') {
    const usual = usualClock(slots)
    return usual !== null && usual !== clock
      ? `Clocks go forward: ${usual} does not exist that night. It runs at ${clock}.`
      : 'Clocks go forward before this run, so it comes an hour sooner than the ones before.'
  }
  if (slot.note === 'clocks-back')
    return 'Clocks go back before this run, so it comes an hour later than the ones before.'
  return null
}
