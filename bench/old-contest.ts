/** What is measured: one way to hold jobs, opened by any number of processes. */
export interface Contestant {
  readonly name: string
  /** Plain data, so that another process can open the same jobs. */
  readonly address: Address
  /** What durability and settings the figures are for. */
  readonly settings: string
  /** Ends what the contestant started or wrote. */
  remove(): Promise<void>
}

export type Address =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string; readonly synchronous: 'full' | 'normal' }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** One figure of one round: jobs per second. */
export interface Figure {
  readonly scenario: string
  readonly contestant: string
  readonly perSecond: number
}

export interface Sizes {
  readonly rounds: number
  readonly oneByOne: number
  readonly callers: number
  readonly bulk: number
  readonly drain: number
}

export const QUICK: Sizes = { rounds: 3, oneByOne: 1_500, callers: 30_000, bulk: 50_000, drain: 100_000 }
export const FULL: Sizes = { rounds: 5, oneByOne: 5_000, callers: 100_000, bulk: 100_000, drain: 200_000 }

/** About 100 bytes as JSON, like the payloads of the published comparisons. */
export function payload(n: number): { n: number; to: string; subject: string; tags: string[] } {
  return {
    n,
    to: `user-${n}@example.test`,
    subject: 'Your monthly report is ready',
    tags: ['report', 'mail'],
  }
}
