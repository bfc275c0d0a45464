/**
 * A program that uses Skep in earnest, to be ended in the middle of it: several callers and a worker. It waits for one
 * message, then works until it dies or is told to stop.
 */
import { createSkep, silentLogger } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { call, drained, handlers, listen } from './crew.ts'
import { openPen } from './evidence.ts'

export interface VictimOptions {
  readonly file: string
  /** Where the evidence goes: another disk. */
  readonly evidence: string
  /** Stands before the keys of this process. */
  readonly name: string
  readonly seed: number
  readonly callers: number
  readonly bytes: number
  readonly synchronous: 'full' | 'normal'
  /** How long an enqueue keeps trying. */
  readonly enqueueTimeoutMs: number
}

/** With callers: works until it dies. Without: finishes what is there, and ends. */
async function work(options: VictimOptions): Promise<void> {
  const { file, evidence, name, seed, callers, bytes, synchronous } = options
  const pen = openPen(evidence)
  const skep = createSkep({
    store: sqliteStore({ file, synchronous }),
    logger: silentLogger,
    enqueueTimeout: options.enqueueTimeoutMs,
  })
  listen(skep, pen)
  skep.worker(handlers(pen, bytes), { rescueGrace: 0 })
  for (let n = 0; n < callers; n++) {
    // Each process by itself, so that no two lives of a chain do the same.
    const random = seededRandom(seed * 1_000 + n + hash(name))
    void call({ skep, pen, random, name: `${name}-${n}`, bytes, isOver: () => false })
  }
  if (callers > 0) return
  await drained(skep, DRAIN_MS)
  await skep.close()
  process.disconnect()
}

const DRAIN_MS = 60_000

function hash(name: string): number {
  return Buffer.from(name).reduce((sum, byte) => sum * 31 + byte, 0)
}

if (process.argv[2] === 'wait') {
  process.once('message', (options) => void work(options as VictimOptions))
  process.send?.('waiting')
}
