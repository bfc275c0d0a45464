import { EXIT } from '../exit.ts'
import { watchOutput } from '../output.ts'

/** A reader that went away (`skep jobs | head -1`) is no error; a full disk is one. */
function endOfOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  process.stderr.write(`error OUTPUT: stdout cannot be written: ${error.message}\n`)
  process.exit(EXIT.failure)
}

let whenGone: (error: NodeJS.ErrnoException) => void = endOfOutput

/**
 * What happens when stdout takes no more. A command that only prints has nothing left to do and ends; one that holds
 * jobs says here what it does instead.
 */
export function whenOutputCloses(act?: () => void): void {
  if (act) whenGone = act
  else watchOutput((error) => whenGone(error))
}

export interface StopRequests {
  /** Aborts at the first request. */
  readonly signal: AbortSignal
  /** Asks to stop, as Ctrl-C does. */
  request(): void
  /** Takes the signal handlers away again. */
  release(): void
}

/**
 * Listens for stop signals. The first one starts a graceful stop (`signal`), a second Ctrl-C calls
 * `onHurry`, a third `onForce`. A repeated SIGTERM of a service manager is ignored.
 */
export function listenForStop(options: {
  readonly onHurry: () => void
  readonly onForce: () => void
}): StopRequests {
  const stop = new AbortController()
  let asked = 0
  const request = (): void => {
    asked++
    if (asked === 1) stop.abort()
    else if (asked === 2) options.onHurry()
    else options.onForce()
  }
  const once = (): void => {
    if (asked === 0) request()
  }
  process.on('SIGINT', request)
  process.on('SIGTERM', once)
  process.on('SIGHUP', once)
  return {
    signal: stop.signal,
    request,
    release: () => {
      process.off('SIGINT', request)
      process.off('SIGTERM', once)
      process.off('SIGHUP', once)
    },
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
