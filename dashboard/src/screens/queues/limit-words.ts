import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { durationText } from '../../format/times.ts'

export type Limit = QueueDetail['limits'][number]
export type LimitsSaid = Limit['limits']
export type RateSaid = NonNullable<LimitsSaid['rate']>

/** Limits as sentences; empty when there are none. */
export function limitWords(said: LimitsSaid | null): readonly string[] {
  if (said === null) return []
  return [
    ...own(said, ''),
    ...(said.lanes ? own(said.lanes, 'each lane: ') : []),
    ...(said.lanes?.weight === undefined ? [] : [`each lane: weight ${said.lanes.weight}`]),
    ...(said.weight === undefined ? [] : [`weight ${said.weight}`]),
    ...(said.shared ? [`shares the limit ${said.shared}`] : []),
    ...(said.order === 'strict' ? ['strict order: one job of a lane at a time'] : []),
  ]
}

function own(
  { concurrency, rate }: { readonly concurrency?: number | null; readonly rate?: RateSaid | null },
  who: string,
): string[] {
  return [
    ...(concurrency === undefined
      ? []
      : [`${who}${concurrency === null ? 'any number at a time' : `${concurrency} at a time`}`]),
    ...(rate === undefined ? [] : [`${who}${rate === null ? 'as fast as can be' : rateWords(rate)}`]),
  ]
}

export function rateWords({ limit, per, burst }: RateSaid): string {
  return `${limit} per ${durationText(per)}, up to ${burst} at once`
}

export function targetWords({ target }: Limit): string {
  if ('shared' in target) return `Shared limit ${target.shared}`
  if (target.lane === undefined) return 'The whole queue'
  return target.lane === '' ? 'Jobs without a lane' : `Lane ${target.lane}`
}
