import type { Bounds } from './world.ts'

/** One job in depth: two settlements on their way at once, late ones, doubled ones, retries, rescues, a retry by hand. */
export const DEEP: Bounds = {
  jobs: 1,
  runs: 1,
  messages: 2,
  copies: 2,
  retriesByHand: 0,
  retries: 1,
  rescues: 1,
  starts: 1,
  snoozes: 1,
}

/** Two jobs in breadth: one is kept when it is done, the other is discarded. */
export const WIDE: Bounds = {
  jobs: 2,
  runs: 1,
  messages: 1,
  copies: 1,
  retriesByHand: 0,
  retries: 0,
  rescues: 0,
  starts: 1,
  snoozes: 0,
}

/** For the planted faults: everything a little. The search ends at the first fault. */
export const FULL: Bounds = { ...DEEP, retriesByHand: 1, starts: 2 }
