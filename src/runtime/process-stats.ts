import { memoryUsage, version as nodeVersion } from 'node:process'
import type { LagWatch, Runtime } from './runtime.ts'

/** What a worker's process tells of itself with every heartbeat. */
export interface Vitals {
  /** The version of the program, if it said so. */
  readonly version: string | null
  /** The version of Node. */
  readonly node: string
  /** Memory in use, in bytes. */
  readonly memoryBytes: number
  /** How late the event loop was since the heartbeat before: 99 of 100 times not more than this. Null: it is not measured. */
  readonly lagMs: number | null
  /** It claims no more jobs until it is resumed. */
  readonly paused: boolean
  /** Jobs that it has taken ahead and not started. */
  readonly prefetched: number
  /** Its jobs run outside of its process, and its queues come and go. */
  readonly isRelay: boolean
}

/** Reads the vitals of this process. */
export class VitalSigns {
  readonly #version: string | null
  readonly #lag: LagWatch | null

  constructor(runtime: Runtime, version: string | null) {
    this.#version = version
    this.#lag = runtime.watchLag?.() ?? null
  }

  /** As JSON text, which is how they go to the store. */
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

/** What a worker told. Whoever wrote it may have been of another version: what makes no sense is left out. */
export function parseVitals(text: string): Vitals {
  try {
    const told = JSON.parse(text) as Partial<Record<keyof Vitals, unknown>> | null
    return {
      version: typeof told?.version === 'string' ? told.version : null,
      node: typeof told?.node === 'string' ? told.node : '',
      memoryBytes: numberOf(told?.memoryBytes) ?? 0,
      lagMs: numberOf(told?.lagMs),
      paused: told?.paused === true,
      prefetched: numberOf(told?.prefetched) ?? 0,
      isRelay: told?.isRelay === true,
    }
  } catch {
    return UNKNOWN
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
