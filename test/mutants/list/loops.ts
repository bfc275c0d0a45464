import type { Killer, Mutant } from '../mutant.ts'

const END_OF_LOOP = 'const message = messageOf(error)'

/** A loop that ends at its first error and is never seen again. */
function dyingLoop(loop: string, incidents: readonly number[], story: string, killedBy: Killer): Mutant {
  return {
    name: `loop-${loop}-dies`,
    incidents,
    rule: 'R15',
    file: 'src/runtime/supervise.ts',
    find: END_OF_LOOP,
    replace: `if (name === '${loop}') return\n        ${END_OF_LOOP}`,
    story,
    killedBy,
  }
}

/** Loops that die, sleep for ever, or wait for hints. */
export const LOOP_MUTANTS: readonly Mutant[] = [
  dyingLoop(
    'heartbeat',
    [27, 37, 57],
    'One failed heartbeat is the last one, and the worker loses its jobs again and again.',
    { vitest: 'test/mutants/gaps/worker.test.ts', test: 'goes on after one failed heartbeat' },
  ),
  dyingLoop(
    'rescue',
    [14, 27, 35, 57],
    'One failed look for dead workers is the last one, and their jobs are never given back.',
    { vitest: 'test/worker/loops.test.ts', test: 'go on without each other' },
  ),
  dyingLoop('prune', [35, 57], 'One failed prune is the last one, and finished jobs are kept for ever.', {
    vitest: 'test/worker/loops.test.ts',
    test: 'go on without each other',
  }),
  {
    name: 'loop-poll-sleeps-for-ever',
    incidents: [28, 29, 33],
    rule: 'R7',
    file: 'src/worker/worker.ts',
    find: 'return options.pollMs ?? (hints ? POLL_WITH_HINTS_MS : POLL_WITHOUT_HINTS_MS)',
    replace: 'return 1_000_000_000_000',
    story: 'Work is found by hints alone: what no hint told of is never found.',
    killedBy: { simulation: 'memory', trials: 400 },
  },
  {
    name: 'loop-exchange-never-tries-again',
    incidents: [25, 26],
    rule: 'R15',
    file: 'src/worker/store-batcher.ts',
    find: 'this.#retryTimer = null\n      this.nudge()',
    replace: 'this.nudge()',
    story: 'After one failed call a worker believes for ever that it is about to try again.',
    killedBy: { simulation: 'memory', trials: 400 },
    also: { vitest: 'test/worker/outage.test.ts', test: 'an idle worker takes jobs again afterwards' },
  },
  {
    name: 'loop-claims-wait-for-handlers',
    incidents: [30],
    rule: 'R17',
    file: 'src/worker/worker.ts',
    find: 'const wish = this.#window.wish(options, runtime.mono(), this.#board)',
    replace:
      'const wish = (this.#window.busy > 0 ? null : this.#window.wish(options, runtime.mono(), this.#board))',
    story: 'Nothing is claimed while one handler runs, so a job that never ends stops all the others.',
    killedBy: { vitest: 'test/mutants/gaps/worker.test.ts', test: 'that claims does not wait for handlers' },
  },
  {
    name: 'loop-due-time-rounded-to-never',
    incidents: [28],
    rule: 'R17',
    file: 'src/worker/worker.ts',
    find: 'const at = runtime.mono() + Math.max(1, Math.ceil(waitMs))',
    replace:
      'if (Math.floor(waitMs / 1_000) === 0) return\n' +
      '    const at = runtime.mono() + Math.max(1, Math.ceil(waitMs))',
    story: 'A wait of less than a second is rounded to no wake-up at all.',
    killedBy: {
      vitest: 'test/mutants/gaps/worker.test.ts',
      test: 'when it is delayed by less than a second',
    },
  },
  {
    name: 'loop-sync-not-heard',
    incidents: [31, 32],
    rule: 'R7',
    file: 'src/worker/worker.ts',
    find: "if (hint.kind === 'sync') {",
    replace: "if (hint.kind === 'sync' && hints.length < 0) {",
    story: 'A worker does nothing when it is told that hints may have been missed.',
    killedBy: {
      vitest: 'test/mutants/gaps/worker.test.ts',
      test: 'when the worker is told that hints may have been missed',
    },
  },
  {
    name: 'loop-failed-claim-forgotten',
    incidents: [25],
    rule: 'R15',
    file: 'src/worker/worker.ts',
    find: 'this.#window.retell(call.sources)',
    replace: '',
    story: 'After a claim that failed a worker waits for the next poll instead of asking again.',
    killedBy: {
      vitest: 'test/mutants/gaps/worker.test.ts',
      test: 'when the claim that was to take it failed',
    },
  },
  {
    name: 'loop-results-rely-on-hints',
    incidents: [28, 33],
    rule: 'R7',
    file: 'src/client/jobs/results.ts',
    find: 'const LOOK_AGAIN_MS = 2_000',
    replace: 'const LOOK_AGAIN_MS = 1_000_000_000',
    story: 'Whoever waits for a result whose hint was lost waits for ever.',
    killedBy: { vitest: 'test/client/results.test.ts', test: 'comes also when every hint is lost' },
  },
  {
    name: 'loop-worker-not-listed-again',
    incidents: [37],
    rule: 'R15',
    file: 'src/worker/worker.ts',
    find: 'if (runtime.mono() - lastBeat >= beatMs * 0.9) {',
    replace: 'if (runtime.mono() < 0) {',
    story: 'A worker says only once that it is there, and is taken off the list while it lives.',
    killedBy: { vitest: 'test/worker/loops.test.ts', test: 'tell what the worker is doing' },
  },
  {
    name: 'hint-forgotten-after-enqueue',
    incidents: [29],
    rule: 'R7',
    file: 'src/client/enqueue/batcher.ts',
    find: 'if (!reply.isTold) this.#hint(jobs, reply)',
    replace: '',
    story: 'An enqueue publishes no hint, so the job waits for the next poll.',
    killedBy: {
      vitest: 'test/client/enqueue.test.ts',
      test: 'with a delay: at its time, by a timer of its own and not by a tick',
    },
  },
  {
    name: 'hint-forgotten-after-retry',
    incidents: [29],
    rule: 'R7',
    file: 'src/worker/settler.ts',
    find: "if (result.state === 'ready' || result.state === 'delayed') {",
    replace: "if (result.state === 'running') {",
    story: 'A job that goes back to wait publishes no hint, so it waits for the next poll.',
    killedBy: {
      vitest: 'test/mutants/gaps/worker.test.ts',
      test: 'when it is tried again after a short wait',
    },
  },
  {
    name: 'hint-forgotten-after-rescue',
    incidents: [29],
    rule: 'R7',
    file: 'src/maintenance/rescue.ts',
    find: "if (result.state === 'ready' || result.state === 'delayed') {",
    replace: "if (result.state === 'running') {",
    story: 'A rescued job publishes no hint, so it waits for the next poll.',
    killedBy: {
      vitest: 'test/worker/rescue.test.ts',
      test: 'frees the jobs of a process that is gone after the grace',
    },
  },
  {
    name: 'hint-forgotten-after-retry-by-hand',
    incidents: [29],
    rule: 'R7',
    file: 'src/client/jobs/change.ts',
    find: 'const hints = await waitingHints(env, results, waiting)',
    replace: 'const hints: Hint[] = []',
    story: 'A retry or a promote publishes no hint, so the jobs wait for the next poll.',
    killedBy: { vitest: 'test/client/manage.test.ts', test: 'tells workers of what became ready' },
  },
  {
    name: 'hint-that-fails-does-harm',
    incidents: [54],
    rule: 'R7',
    file: 'src/client/safe-notifier.ts',
    find: 'report(error)\n      return otherwise(error)',
    replace: 'throw error',
    story: 'A notifier that fails makes an enqueue fail that has been committed.',
    killedBy: { vitest: 'test/client/harmless.test.ts' },
  },
]
