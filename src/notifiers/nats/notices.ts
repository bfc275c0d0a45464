import type { Notices } from '../../notices.ts'
import { Tap, type TapOptions } from './tap.ts'

export interface NatsNotices extends Notices {
  /** Closes all taps. */
  close(): void
}

export function createNotices(options: TapOptions): NatsNotices {
  const taps = new Set<Tap>()
  let isClosed = false
  return {
    open(source, listener) {
      const tap = new Tap(options, { space: source.space, queue: source.queue }, listener)
      if (isClosed) tap.close()
      else taps.add(tap)
      return {
        want: (count) => tap.want(count),
        close() {
          taps.delete(tap)
          tap.close()
        },
      }
    },

    async dead(call) {
      return options.graveyard.read(call)
    },

    close() {
      isClosed = true
      for (const tap of taps) tap.close()
      taps.clear()
    },
  }
}
