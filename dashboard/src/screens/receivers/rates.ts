import { useEffect, useRef, useState } from 'react'
import type { ReceiverSummary } from '../../../../src/operations/schema/wire-types.ts'

type Counted = Pick<ReceiverSummary, 'id' | 'acked' | 'nacked'>

export interface Sample {
  readonly at: number
  readonly acks: ReadonlyMap<string, number>
}

export function sampleOf(receivers: readonly Counted[], at: number): Sample {
  return { at, acks: new Map(receivers.map(({ id, acked, nacked }) => [id, acked + nacked])) }
}

/** Acknowledgements per second between two samples. New receivers have no rate yet. */
export function ratesBetween(before: Sample, after: Sample): ReadonlyMap<string, number> {
  const seconds = (after.at - before.at) / 1_000
  if (seconds <= 0) return new Map()
  const rates = new Map<string, number>()
  for (const [id, acks] of after.acks) {
    const earlier = before.acks.get(id)
    if (earlier !== undefined) rates.set(id, Math.max(0, (acks - earlier) / seconds))
  }
  return rates
}

/** Acknowledgements per second of each receiver, from one poll to the next. */
export function useRates(receivers: readonly Counted[] | undefined, at: number): ReadonlyMap<string, number> {
  const last = useRef<Sample | null>(null)
  const [rates, setRates] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    if (receivers === undefined || last.current?.at === at) return
    const now = sampleOf(receivers, at)
    if (last.current) setRates(ratesBetween(last.current, now))
    last.current = now
  }, [receivers, at])
  return rates
}
