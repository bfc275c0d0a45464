import type { Runtime } from '../../index.ts'
import { type Framing, jobsText } from './frames.ts'
import type { ConnectOptions, Receiver } from './receiver.ts'
import type { ReceiverHub } from './receiver-registry.ts'

/** What may wait in a stream for a connection that is slow, before nothing more is given to it. */
const HIGH_WATER_BYTES = 1_048_576
/** A stream on which nothing happens says so, so that a dead connection is found. */
const PING_MS = 15_000

/** A stream of frames for one receiver: it lives as long as somebody reads it. */
export async function jobStream(
  hub: ReceiverHub,
  options: Omit<ConnectOptions, 'send' | 'stop' | 'end' | 'protocol'>,
  framing: Framing,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder()
  const writer: { control: ReadableStreamDefaultController<Uint8Array> | null } = { control: null }
  const write = (word: string, json: string): boolean => {
    const { control } = writer
    if (control === null) return false
    control.enqueue(encoder.encode(framing.frame(word, json)))
    return (control.desiredSize ?? 0) > 0
  }
  const receiver: Receiver = await hub.connect({
    ...options,
    protocol: 'http',
    send: (jobs) => {
      const { text, unreadable } = jobsText(jobs)
      if (unreadable.length > 0) void receiver.ack(unreadable)
      return unreadable.length === jobs.length || write('jobs', text)
    },
    stop: (stops) => void write('stop', JSON.stringify(stops)),
    end: (reason) => {
      // One who does not read would not read this either, and what waits for him goes with him.
      if (reason === 'slow') writer.control?.error(new Error('The receiver took nothing for too long.'))
      else write('end', JSON.stringify({ reason }))
      finish()
    },
  })
  let stopPing: () => void = () => {}
  const ping = (): void => {
    if (writer.control === null) return
    if ((writer.control.desiredSize ?? 0) > 0) write('ping', '{}')
    stopPing = runtime.timer(PING_MS, ping, { background: true })
  }
  const finish = (): void => {
    stopPing()
    signal.removeEventListener('abort', vanish)
    try {
      writer.control?.close()
    } catch {
      // Whoever read it has gone.
    }
    writer.control = null
  }
  const vanish = (): void => {
    receiver.close('gone')
    finish()
  }
  signal.addEventListener('abort', vanish, { once: true })
  const stream = new ReadableStream<Uint8Array>(
    {
      start(control) {
        writer.control = control
        write('hello', JSON.stringify({ receiver: receiver.id }))
        stopPing = runtime.timer(PING_MS, ping, { background: true })
      },
      pull: () => receiver.drained(),
      cancel: vanish,
    },
    { highWaterMark: HIGH_WATER_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  )
  if (signal.aborted) vanish()
  return stream
}
