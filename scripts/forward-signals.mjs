// Gives a child process each stop signal exactly once. Ctrl-C in a terminal, and a signal to a process group, reach
// the child by themselves; a signal to this process alone does not. Passing on too many is as bad as too few, since
// a second one means "stop at once, do not drain".

import { spawn } from 'node:child_process'

const groupDelayMs = 150
const parentCheckMs = 250

/**
 * @param {import('node:child_process').ChildProcess} child In this process's group, so not detached.
 */
export function forwardSignals(child) {
  let canary = startCanary()
  let signalled = false

  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (signalled && signal !== 'SIGINT') return
      signalled = true
      // A short wait for the canary: if the signal was for the whole group, it is dead and the child has the signal.
      setTimeout(() => {
        if (canary.exitCode === null && canary.signalCode === null) child.kill(signal)
        else canary = startCanary()
      }, groupDelayMs)
    })
  }

  // npm passes signals to the shell between us, which dies of them and tells nobody.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent || signalled || process.env['npm_lifecycle_event'] === undefined) return
    signalled = true
    child.kill('SIGTERM')
  }, parentCheckMs)
  watch.unref()
}

/** A process of our group with no signal handlers, which ends with us: its input closes. */
function startCanary() {
  const canary = spawn('cat', [], { stdio: ['pipe', 'ignore', 'ignore'] })
  canary.on('error', () => {})
  canary.stdin.on('error', () => {})
  canary.unref()
  return canary
}
