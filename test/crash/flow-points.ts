import type { Address } from './program.ts'

/** Where a process ends itself, at its nth time there. */
export const POINTS = [
  /** A handler has returned, and nothing of it is saved. */
  'before settle',
  /** It is saved, and the worker has not heard so. */
  'after settle',
  /** A group has fired, and nobody has heard so. */
  'after fire',
  /** It has got a job that moves a run on. */
  'after claim',
  /** It knows how a run moves on, and has not said so. */
  'before move',
  /** The run has moved, and the worker has not heard so. */
  'after move',
  /** It is about to cancel what a step does not need any more. */
  'before cancel',
] as const

export type Point = (typeof POINTS)[number]

export interface FlowProgramConfig {
  readonly proc: string
  readonly address: Address
  readonly marks: string
  readonly leaseMs: number
  readonly dies: { readonly point: Point; readonly nth: number } | null
}
