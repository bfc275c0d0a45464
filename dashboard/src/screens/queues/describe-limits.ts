import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { durationText } from '../../format/times.ts'

export type Limit = QueueDetail['limits'][number]
export type LimitSettings = Limit['limits']
export type RateSetting = NonNullable<LimitSettings['rate']>

/** Limits as phrases; empty if there are none. */
export function describeLimits(limits: LimitSettings | null): readonly string[] {
  if (limits === null) return []
  return [
    ...phrases(limits, ''),
    ...(limits.lanes ? phrases(limits.lanes, 'each lane: ') : []),
    ...(limits.lanes?.weight === undefined ? [] : [`each lane: weight ${limits.lanes.weight}`]),
    ...(limits.weight === undefined ? [] : [`weight ${limits.weight}`]),
    ...(limits.shared ? [`shared limit ${limits.shared}`] : []),
    ...(limits.order === 'strict' ? ['strict order: one job per lane at a time'] : []),
  ]
}

function phrases(
  { concurrency, rate }: { readonly concurrency?: number | null; readonly rate?: RateSetting | null },
  prefix: string,
): string[] {
  return [
    ...(concurrency === undefined
      ? []
      : [`${prefix}${concurrency === null ? 'unlimited concurrency' : `concurrency ${concurrency}`}`]),
    ...(rate === undefined ? [] : [`${prefix}${rate === null ? 'no rate limit' : describeRate(rate)}`]),
  ]
}

export function describeRate({ limit, per, burst }: RateSetting): string {
  return `${limit} jobs per ${durationText(per)}, burst ${burst}`
}

export function describeTarget({ target }: Limit): string {
  if ('shared' in target) return `Shared limit ${target.shared}`
  if (target.lane === undefined) return 'Whole queue'
  return target.lane === '' ? 'Default lane' : `Lane ${target.lane}`
}
