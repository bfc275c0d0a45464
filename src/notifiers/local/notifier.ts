import { messageOf } from '../../core/errors.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Hint, HintListener, Notifier, NotifierHealth, Subscription } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { Bus } from '../shared/fan-out.ts'
import { Mailbox } from './hint-file.ts'
import { Peers } from './peers.ts'

export interface LocalNotifierOptions {
  readonly runtime: Runtime
  /**
   * The folder through which the processes of a machine exchange hints. Omitted: hints stay in the process.
   */
  readonly folder?: string | null
}

const KEYS = optionKeys<LocalNotifierOptions>('localNotifier()', { runtime: true, folder: true })

/** The interval of heartbeats and of cleaning up the folder. */
const REFRESH_MS = 10_000

/** Delivers hints inside the process and, with a folder, between the processes of one machine. */
export function localNotifier(options: LocalNotifierOptions): Notifier {
  assertOptions(KEYS, options ?? null)
  const { runtime, folder } = options
  const bus = new Bus(runtime)
  const outside = folder ? openOutside(runtime, folder, bus) : null
  let closed = false

  return {
    publish(hints: readonly Hint[]): void {
      if (closed || hints.length === 0) return
      bus.tell(hints)
      outside?.send(hints)
    },

    subscribe(listener: HintListener): Subscription {
      if (closed) return { end: () => {} }
      return bus.add(listener, () => outside?.listen())
    },

    health(): NotifierHealth {
      if (closed) return { status: 'down', detail: 'closed' }
      return outside?.health() ?? { status: 'up', detail: 'inside this process' }
    },

    async close(): Promise<void> {
      if (closed) return
      closed = true
      outside?.close()
      bus.close()
    },
  }
}

interface Outside {
  send(hints: readonly Hint[]): void
  /** Starts to receive hints from other processes. */
  listen(): void
  health(): NotifierHealth
  close(): void
}

function openOutside(runtime: Runtime, folder: string, bus: Bus): Outside {
  const mailbox = new Mailbox(folder, runtime)
  const peers = new Peers({ folder, runtime, own: mailbox.name, onHints: (hints) => bus.tell(hints) })
  let stop: (() => void) | null = null
  let closed = false

  const refresh = (): void => {
    if (closed) return
    stop?.()
    const now = mailbox.refresh()
    if (now !== null) peers.refresh(now)
    stop = runtime.timer(REFRESH_MS, refresh, { background: true })
  }

  return {
    send(hints) {
      mailbox.send(hints)
      if (stop === null) stop = runtime.timer(REFRESH_MS, refresh, { background: true })
    },
    listen() {
      if (peers.isOpen) return
      peers.open()
      refresh()
    },
    health() {
      if (mailbox.failure) {
        return { status: 'down', detail: `hints stay in this process: ${messageOf(mailbox.failure)}` }
      }
      const how = peers.isWatching ? 'watched' : 'polled'
      return { status: 'up', detail: `between processes through "${folder}", ${how}` }
    },
    close() {
      closed = true
      stop?.()
      mailbox.flush()
      // A process that only sends never listens, so it cleans up when it ends: others like it leave files.
      const now = mailbox.isUsed ? mailbox.refresh() : null
      if (now !== null) peers.sweep(now)
      mailbox.close()
      peers.close()
    },
  }
}
