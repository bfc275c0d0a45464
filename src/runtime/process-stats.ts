import { memoryUsage, version as nodeVersion } from 'node:process'
import type { LagWatch, Runtime } from './runtime.ts'

/** What a worker's process reports with every heartbeat. */
export interface Vitals {
  /** The version of the program, if it is set. */
  readonly version: string | null
  readonly node: string
  readonly memoryBytes: number
  /** The 99th percentile of the event loop's delay since the last heartbeat. Null: not measured. */
  readonly lagMs: number | null
  /** Whether it claims no jobs until it is resumed. */
  readonly paused: boolean
  readonly prefetched: number
  /** Its jobs run outside its process, and its queues may change. */
  readonly isRelay: boolean
}

export class VitalSigns {
  readonly #version: string | null
  readonly #lag: LagWatch | null

  constructor(runtime: Runtime, version: string | null) {
    this.#version = version
    this.#lag = runtime.watchLag?.() ?? null
  }

  /** As JSON text, the form in which they are stored. */
  read({ paused, prefetched, isRelay }: Pick<Vitals, 'paused' | 'prefetched' | 'isRelay'>): string {
    const lagMs = this.#lag?.p99Ms() ?? null
    const vitals: Vitals = {
      version: this.#version,
      node: nodeVersion,
      memoryBytes: memoryUsage.rss(),
      lagMs: lagMs === null ? null : Math.round(lagMs * 10) / 10,
      paused,
      prefetched,
      isRelay,
    }
    return JSON.stringify(vitals)
  }

  end(): void {
    this.#lag?.end()
  }
}

const UNKNOWN: Vitals = {
  version: null,
  node: '',
  memoryBytes: 0,
  lagMs: null,
  paused: false,
  prefetched: 0,
  isRelay: false,
}

/** The vitals of a worker. It may be of another version: invalid values are left out. */
export function parseVitals(text: string): Vitals {
  try {
    const stored = JSON.parse(text) as Partial<Record<keyof Vitals, unknown>> | null
    return {
      version: typeof stored?.version === 'string' ? stored.version : null,
      node: typeof stored?.node === 'string' ? stored.node : '',
      memoryBytes: numberOf(stored?.memoryBytes) ?? 0,
      lagMs: numberOf(stored?.lagMs),
      paused: stored?.paused === true,
      prefetched: numberOf(stored?.prefetched) ?? 0,
      isRelay: stored?.isRelay === true,
    }
  } catch {
    return UNKNOWN
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
