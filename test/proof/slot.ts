import { SCHEDULE_HEADER, SLOT_HEADER } from '../../src/core/schedules/schedule.ts'
import type { AuditRow } from './history.ts'

/** The slot that a job stands for, by its headers; nothing for a job that was not made by a schedule's slot. */
export function slotIn(headers: string | null): Pick<AuditRow, 'slot'> {
  if (headers === null || !headers.includes(SLOT_HEADER)) return {}
  const { [SCHEDULE_HEADER]: schedule, [SLOT_HEADER]: slot } = JSON.parse(headers) as Record<string, string>
  return { slot: { schedule: schedule as string, slot: Date.parse(slot as string) } }
}
