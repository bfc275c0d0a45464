import type { Hint, HintListener, Notifier, Subscription } from '../../notifier.ts'
import type { Runtime } from '../../runtime.ts'

export interface LocalNotifierOptions {
  readonly runtime: Runtime
  /** Where processes on one machine leave hints for each other; without it hints stay in the process. */
  readonly folder?: string | null
}

/** Carries hints inside the process, and with a folder between the processes of one machine. */
export function localNotifier({ runtime }: LocalNotifierOptions): Notifier {
  const listeners = new Set<HintListener>()
  let pending: Hint[] = []
  let closed = false

  const deliver = (): void => {
    const hints = pending
    pending = []
    for (const listener of listeners) listener(hints)
  }

  return {
    publish(hints: readonly Hint[]): void {
      if (closed || hints.length === 0) return
      if (pending.length === 0) runtime.defer(deliver)
      pending.push(...hints)
    },
    subscribe(listener: HintListener): Subscription {
      const mine: HintListener = (hints) => listener(hints)
      listeners.add(mine)
      runtime.defer(() => {
        if (listeners.has(mine)) mine([{ kind: 'sync' }])
      })
      return { end: () => void listeners.delete(mine) }
    },
    health: () => ({ status: closed ? 'down' : 'up', detail: 'inside this process' }),
    async close() {
      closed = true
      listeners.clear()
    },
  }
}
