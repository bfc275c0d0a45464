import type { Contestant, Figure } from './contest.ts'

/** What a run of the benchmark found. Plain data: it is written as JSON, and the report reads it back. */
export interface Result {
  readonly machine: Machine
  /** When the run began, ISO 8601. */
  readonly at: string
  /** Small sizes: good for a look, not for publishing. */
  readonly quick: boolean
  readonly rounds: number
  readonly contestants: readonly Entrant[]
  readonly figures: readonly RoundFigure[]
  /** Values over time, for charts. */
  readonly series?: readonly Series[]
  /** Why a figure is missing: it took too long, or its measurement failed. */
  readonly notes?: readonly Note[]
  /** Sentences that readers of this run need, written by hand into the published file. A whole new run has none. */
  readonly remarks?: readonly string[]
}

export interface Machine {
  /** The Node that runs the benchmark, as `20.20.2`. A contestant may have its own. */
  readonly node: string
  readonly cpus: number
  readonly model: string
  /** The system, then the servers that ran, as `Debian 12; PostgreSQL 15.18; Redis 7.0.15`. */
  readonly os: string
}

/** A contestant that took part, and what it ran on. */
export interface Entrant extends Pick<Contestant, 'name' | 'kind' | 'store' | 'settings'> {
  /** Of its package. Null for the raw databases. */
  readonly version: string | null
  /** The Node of its processes, as `24.4.1`. */
  readonly node: string
}

/** A scenario that a contestant could not finish in its time has a figure in fewer rounds, or none. */
export interface RoundFigure extends Figure {
  /** From 1. */
  readonly round: number
  /** When its run began, if results of several runs were put together and it is not the last of them. */
  readonly at?: string
}

export interface Series {
  readonly scenario: string
  readonly contestant: string
  readonly measure: string
  /** Seconds since the scenario began, and the value. */
  readonly points: readonly (readonly [number, number])[]
}

export interface Note {
  readonly scenario: string
  readonly contestant: string
  /** Half a sentence, as in `not within 100 s`. */
  readonly note: string
}
