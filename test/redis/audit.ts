/**
 * The audit of the keys of a Redis store (I-24, I-25): the script keeps many structures that must say the same, and this
 * reads all of them and says where they do not. It is written from what `keys.ts` says and shares no code with the script.
 */
import type { Redis } from 'ioredis'
import { checkGroups, checkMembers, checkRuns } from './audit/flows.ts'
import { checkHolds, checkLanes, checkLines } from './audit/lanes.ts'
import { checkGone, checkLeases } from './audit/leases.ts'
import { checkCounts, checkFinished, checkPlaces, checkUniques, checkWindows } from './audit/places.ts'
import { checkLeftOver, checkNames, checkNotes, checkRecords, checkSchedules } from './audit/rest.ts'
import type { RuleName, Say } from './audit/say.ts'
import { type Contents, readContents } from './contents.ts'

export interface Fault {
  readonly rule: RuleName
  readonly what: string
}

export interface AuditOptions {
  /** What time it is for the store. @default the latest: then nothing is said about what is over */
  readonly now?: number
  /** There is no job, no group and no run any more, and all was pruned: so nothing may be left. @default false */
  readonly isEmpty?: boolean
}

const CHECKS: readonly ((contents: Contents, say: Say) => void)[] = [
  checkPlaces,
  checkFinished,
  checkCounts,
  checkUniques,
  checkLeases,
  checkGone,
  checkLines,
  checkLanes,
  checkGroups,
  checkMembers,
  checkRuns,
  checkNotes,
  checkRecords,
  checkSchedules,
  checkNames,
]

/** Everything that is wrong. */
export function auditContents(contents: Contents, options: AuditOptions = {}): Fault[] {
  const { now = Number.POSITIVE_INFINITY, isEmpty = false } = options
  const faults: Fault[] = []
  const say: Say = (rule, what) => void faults.push({ rule, what })
  for (const check of CHECKS) check(contents, say)
  checkWindows(contents, now, say)
  checkHolds(contents, now, say)
  if (isEmpty) checkLeftOver(contents, say)
  return faults
}

/** Reads the keys of a prefix and throws if something is wrong with them. Nobody may write meanwhile. */
export async function auditRedis(client: Redis, prefix: string, options: AuditOptions = {}): Promise<void> {
  const faults = auditContents(await readContents(client, prefix), options)
  if (faults.length === 0) return
  const shown = faults.slice(0, 20).map(({ rule, what }) => `I-24 ${rule}: ${what}`)
  throw new Error(`${faults.length} faults in the keys of "${prefix}":\n${shown.join('\n')}`)
}
