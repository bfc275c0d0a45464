import { type Payload, payload } from '../contest.ts'

/**
 * Jobs that wait for each other. `children`: all but the last run at the same time, and the last with the results of all of
 * them. `chain`: each runs after the one before it, with its result. The result of a job is its number.
 */
export interface FlowShape {
  readonly kind: 'children' | 'chain'
  /** Of all its jobs. */
  readonly size: number
}

/** The jobs of a flow, in the order of their numbers. Flows are numbered, and so are the jobs of all of them together. */
export function jobsOf({ size }: FlowShape, flow: number): Payload[] {
  return Array.from({ length: size }, (_, nth) => payload(flow * size + nth))
}

/** It is the last one of its flow. */
export function isLast({ size }: FlowShape, n: number): boolean {
  return n % size === size - 1
}

/** The numbers of the jobs that one waits for. They follow each other. */
export function waitsFor({ kind, size }: FlowShape, n: number): readonly number[] {
  const nth = n % size
  if (kind === 'chain') return nth === 0 ? [] : [n - 1]
  return nth === size - 1 ? Array.from({ length: size - 1 }, (_, i) => n - nth + i) : []
}

/** It waits for others. */
export function waits({ kind, size }: FlowShape, n: number): boolean {
  return kind === 'chain' ? n % size > 0 : n % size === size - 1
}

/** What is wrong with the results that a job got, as half a sentence; null if it got each of them once. */
export function wrongResults(shape: FlowShape, n: number, results: readonly number[]): string | null {
  const expected = waitsFor(shape, n)
  const sorted = results.toSorted((a, b) => a - b)
  const fits = sorted.length === expected.length && sorted.every((result, i) => result === expected[i])
  return fits
    ? null
    : `job ${n} got ${results.length} results, and not those of the ${expected.length} before it`
}
