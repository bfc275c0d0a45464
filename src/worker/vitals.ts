import { memoryUsage, version } from 'node:process'

/** What a worker's process tells of itself with every heartbeat. */
export interface Vitals {
  /** The version of Node. */
  readonly node: string
  /** Memory in use, in bytes. */
  readonly memoryBytes: number
}

/** The same as JSON text, as it goes to the store. */
export function readVitals(): string {
  const vitals: Vitals = { node: version, memoryBytes: memoryUsage.rss() }
  return JSON.stringify(vitals)
}
