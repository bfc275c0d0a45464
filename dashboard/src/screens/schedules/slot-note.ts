import type { SlotPreview } from '../../../../src/server/api.ts'

/** Why a slot is not where one would look for it. */
export function noteText(note: SlotPreview['note'], local: string): string | null {
  const clock = /\d\d:\d\d/.exec(local)?.[0] ?? 'that time'
  if (note === 'clocks-forward') {
    return `The clocks go forward before this one. A time that the change leaps over does not exist that day, and the slot is at ${clock}, right after it.`
  }
  if (note === 'clocks-back') {
    return `The clocks go back before this one. The hour that comes twice counts once, so the slot at ${clock} is not fired a second time.`
  }
  return null
}
