/** How much of everything. A scenario has a count and a time: whichever is over first ends it, because some are slow. */
export interface Sizes {
  readonly rounds: number
  /** Which scenarios run unless `--scenario` names some. Null: all. */
  readonly scenarios: readonly string[] | null
  /** One awaited call after the other, and a hundred callers: this long each. */
  readonly enqueueMs: number
  /** Not counted: Node compiles what runs often, and some have more to compile than others. */
  readonly enqueueWarmUpMs: number
  readonly bulk: number
  readonly drain: number
  readonly drainMs: number
  /** Drained before, and not counted. */
  readonly drainWarmUp: number
  readonly atOnceSeconds: number
  readonly latencyJobs: number
  /** Not counted: the first calls of a process are slow. */
  readonly latencyWarmUp: number
  /** Before those, at once: until Node has compiled what runs for each job, as in a process that lives for more than seconds. */
  readonly latencyCompileUp: number
  readonly steadySeconds: number
  readonly steadyWarmUpSeconds: number
  readonly backlog: { readonly piece: number; readonly pieces: number; readonly large: number }
  readonly killedSeconds: number
  readonly pinned: {
    readonly rate: number
    readonly windowSeconds: number
    readonly free: number
    readonly pinned: number
  }
  readonly strict: { readonly lanes: number; readonly each: number; readonly ms: number }
  readonly rate: { readonly limit: number; readonly seconds: number }
  /** So many jobs wait in one lane, and then come so many in lanes of their own, every 20 ms. */
  readonly whale: { readonly backlog: number; readonly jobs: number; readonly warmUp: number }
  /** Lanes whose rate is used up, and the jobs of other lanes that run beside them. */
  readonly throttled: { readonly lanes: number; readonly jobs: number }
  /** So many flows with a hundred children, and so many chains of five. */
  readonly flows: { readonly children: number; readonly chains: number; readonly ms: number }
}

export const FULL: Sizes = {
  rounds: 3,
  scenarios: null,
  enqueueMs: 1_500,
  enqueueWarmUpMs: 1_500,
  bulk: 100_000,
  drain: 100_000,
  drainMs: 5_000,
  drainWarmUp: 20_000,
  atOnceSeconds: 3,
  latencyJobs: 500,
  latencyWarmUp: 200,
  latencyCompileUp: 8_000,
  steadySeconds: 5,
  steadyWarmUpSeconds: 2,
  backlog: { piece: 10_000, pieces: 10, large: 1_000_000 },
  killedSeconds: 100,
  pinned: { rate: 2_000, windowSeconds: 30, free: 2, pinned: 6 },
  strict: { lanes: 1_000, each: 100, ms: 30_000 },
  rate: { limit: 200, seconds: 10 },
  whale: { backlog: 500_000, jobs: 250, warmUp: 50 },
  throttled: { lanes: 50_000, jobs: 20_000 },
  flows: { children: 1_000, chains: 20_000, ms: 30_000 },
}

export const QUICK: Sizes = {
  ...FULL,
  scenarios: ['enqueue', 'drain-one', 'latency'],
  enqueueMs: 300,
  enqueueWarmUpMs: 200,
  bulk: 20_000,
  drain: 20_000,
  drainMs: 1_000,
  drainWarmUp: 5_000,
  latencyJobs: 100,
  latencyWarmUp: 10,
  latencyCompileUp: 1_000,
  strict: { lanes: 500, each: 10, ms: 5_000 },
  rate: { limit: 100, seconds: 3 },
  whale: { backlog: 50_000, jobs: 50, warmUp: 10 },
  throttled: { lanes: 5_000, jobs: 5_000 },
  flows: { children: 100, chains: 2_000, ms: 10_000 },
}

/** For the test of the benchmark: everything once, the smallest that still says that it works. */
export const TINY: Sizes = {
  rounds: 1,
  scenarios: null,
  enqueueMs: 100,
  enqueueWarmUpMs: 20,
  bulk: 2_000,
  drain: 2_000,
  drainMs: 5_000,
  drainWarmUp: 200,
  atOnceSeconds: 0.3,
  latencyJobs: 20,
  latencyWarmUp: 5,
  latencyCompileUp: 20,
  steadySeconds: 0.3,
  steadyWarmUpSeconds: 0.1,
  backlog: { piece: 200, pieces: 2, large: 2_000 },
  killedSeconds: 20,
  pinned: { rate: 500, windowSeconds: 0.5, free: 1, pinned: 1 },
  strict: { lanes: 100, each: 5, ms: 10_000 },
  rate: { limit: 50, seconds: 1.5 },
  whale: { backlog: 5_000, jobs: 15, warmUp: 5 },
  throttled: { lanes: 500, jobs: 500 },
  flows: { children: 5, chains: 50, ms: 20_000 },
}
