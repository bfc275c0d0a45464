import type { Mutant } from '../mutant.ts'

/** Enqueueing. */
export const CLIENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'log-last-attempt-throttled',
    incidents: [],
    rule: 'R16',
    file: 'src/client/jobs/log-failures.ts',
    find: `    logger.error(
      \`Job`,
    replace: `    warn(
      \`Job`,
    story: 'While many attempts fail, the last attempt of a job is left out of the log, with its stack.',
    killedBy: {
      vitest: 'test/client/log-failures.test.ts',
      test: 'never leaves out the last attempt of a job',
    },
  },
  {
    name: 'enqueue-answers-too-soon',
    incidents: [18],
    rule: 'R11',
    file: 'src/client/enqueue/batcher.ts',
    find: 'const reply = await this.#insert(',
    replace:
      "for (const { jobs, resolve } of orders) resolve(jobs.map(() => ({ status: 'ok', state: 'ready', dueAt: 0 })))\n" +
      '    const reply = await this.#insert(',
    story: 'An enqueue is acknowledged before the store has answered.',
    killedBy: { simulation: 'memory', trials: 400 },
    also: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'is repeated until the store answers, and is one job',
    },
  },
  {
    name: 'enqueue-unknown-is-success',
    incidents: [18],
    rule: 'R11',
    file: 'src/client/enqueue/batcher.ts',
    find: 'return { isRefused: false, taken: [], errorFor: (mine) => givenUp(mine, isUnknown, error) }',
    replace:
      "if (isUnknown) return { results: Array.from({ length: 10 }, () => ({ status: 'ok', state: 'ready', dueAt: 0 })) }\n" +
      '      return { isRefused: false, taken: [], errorFor: (mine) => givenUp(mine, isUnknown, error) }',
    story: 'An enqueue of which nobody knows whether it happened is acknowledged.',
    killedBy: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'gives up and says that nobody knows when that is so',
    },
  },
  {
    name: 'enqueue-gives-up-early',
    incidents: [],
    rule: 'R2',
    file: 'src/client/retry-calls.ts',
    find: 'if (leftMs <= 0 || isClosed()) throw error',
    replace: 'if (leftMs <= LONGEST_WAIT_MS || isClosed()) throw error',
    story: 'An enqueue gives up before its time, because its next wait would outlast it.',
    killedBy: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'tries once more when its time ends, and then gives up',
    },
  },
  {
    name: 'records-written-again-blindly',
    incidents: [],
    rule: 'R2',
    file: 'src/client/retry-calls.ts',
    find: "({ effect }) => effect === 'none' || isRepeatable)",
    replace: '() => true)',
    story: 'A record whose write may have happened is written again over what others wrote meanwhile.',
    killedBy: {
      vitest: 'test/client/patient-writes.test.ts',
      test: 'is not repeated if it replaces whatever is there',
    },
  },
  {
    name: 'records-in-doubt-are-refused',
    incidents: [],
    rule: 'R2',
    file: 'src/client/retry-calls.ts',
    find: "if (lost !== null && reply.results.includes('refused')) throw lost",
    replace: '',
    story: 'A record that was written, and changed by another since, is said to have been refused.',
    killedBy: {
      vitest: 'test/client/patient-writes.test.ts',
      test: 'is in doubt if another writer has changed the record since',
    },
  },
  {
    name: 'copy-gives-up-at-once',
    incidents: [],
    rule: 'R2',
    file: 'src/client/jobs/jobs.ts',
    find: 'const [job] = (await patient.get({ space, ids: [id] })).jobs',
    replace: 'const [job] = (await this.#env.store.get({ space, ids: [id] })).jobs',
    story: 'Copying a job fails at the first call that does not reach the store.',
    killedBy: { vitest: 'test/client/patient-writes.test.ts', test: 'jobs.copy waits for its end' },
  },
  {
    name: 'enqueue-reads-payload-late',
    incidents: [],
    rule: 'R1',
    file: 'src/client/enqueue/producer.ts',
    find: 'const prepared = this.#env.prepare(queue, payload, options)',
    replace:
      'if (!this.#env.isReady()) await this.#env.readyToWrite()\n' +
      '    const prepared = this.#env.prepare(queue, payload, options)',
    story:
      'The first enqueues of a process read their payloads when the store is open, and the caller has changed them.',
    killedBy: {
      vitest: 'test/client/payload-at-call.test.ts',
      test: 'by the first enqueues of a process, which wait for the store to open',
    },
  },
  {
    name: 'enqueue-unknown-is-failure',
    incidents: [],
    rule: 'R2',
    file: 'src/client/enqueue/batcher.ts',
    find: "isUnknown ||= effect === 'unknown'",
    replace: 'isUnknown = false',
    story: 'An enqueue that may have happened is said to have failed.',
    killedBy: { simulation: 'memory', trials: 400 },
    also: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'says "again" from the first unknown answer on',
    },
  },
  {
    name: 'enqueue-repeats-with-a-new-id',
    incidents: [50],
    rule: 'R13',
    file: 'src/client/enqueue/batcher.ts',
    find: 'const inserted = this.#store.insert({ jobs, ...made, ...how, ...(letter !== null && { letter }) })',
    replace:
      'const inserted = this.#store.insert({\n' +
      '        jobs: again ? jobs.map((job) => ({ ...job, id: this.#runtime.uuid() })) : jobs,\n' +
      '        ...made,\n' +
      '      })',
    story: 'An insert that is repeated makes new jobs instead of the same ones.',
    killedBy: { simulation: 'memory', trials: 400 },
    also: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'is repeated until the store answers, and is one job',
    },
  },
  {
    name: 'enqueue-does-not-say-again',
    incidents: [3],
    rule: 'R6',
    file: 'src/client/enqueue/batcher.ts',
    find: 'const how = known || again ? { again: true } : { fresh: true }',
    replace: 'const how = { fresh: true }',
    story: 'A repeated insert does not say that it is one, so a job that is done and gone runs again.',
    killedBy: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'says "again" from the first unknown answer on',
    },
  },
  {
    name: 'enqueue-one-bad-order-fails-all',
    incidents: [39],
    rule: 'R16',
    file: 'src/client/enqueue/batcher.ts',
    find: 'else if (orders.length > 1 && reply.isRefused) {',
    replace: 'else if (orders.length < 0) {',
    story: 'One caller’s data fails the jobs of all who enqueue in the same moment.',
    killedBy: {
      vitest: 'test/client/enqueue-faults.test.ts',
      test: 'that is refused does not fail those it shared a call with',
    },
  },
  {
    name: 'enqueue-without-limit',
    incidents: [],
    rule: 'R22',
    file: 'src/client/enqueue/batcher.ts',
    find: 'if (count > 0 && size + sizeOf(order) > LIMITS.storeBatch) break',
    replace: '',
    story: 'Callers are put together without limit, beyond what one call of a store may hold.',
    killedBy: { vitest: 'test/mutants/gaps/enqueue.test.ts' },
  },
  {
    name: 'call-without-a-deadline',
    incidents: [25, 36],
    rule: 'R17',
    file: 'src/runtime/deadlines.ts',
    find: 'if (this.#isClosed) return () => {}',
    replace: 'return () => {}',
    story: 'A call to the store that is never answered is waited for without end.',
    killedBy: { simulation: 'memory', trials: 400 },
  },
  {
    name: 'close-leaves-deadlines-behind',
    incidents: [],
    rule: 'R15',
    file: 'src/client/skep.ts',
    find: '    store.giveUp()',
    replace: '',
    story: 'A closed client still waits for answers of its store.',
    killedBy: { simulation: 'memory', trials: 400 },
  },
  {
    name: 'close-leaves-hints-behind',
    incidents: [],
    rule: 'R15',
    file: 'src/client/skep.ts',
    find: 'this.#laterHints.flush()',
    replace: '',
    story: "The hints of a user's transaction are sent after the client was closed.",
    killedBy: { simulation: 'sqlite', trials: 400 },
  },
  {
    name: 'bulk-move-under-a-new-id',
    incidents: [],
    rule: 'R2',
    file: 'src/client/bulk/move.ts',
    find: 'id: movedId(id, job.id)',
    replace: 'id: env.runtime.uuid()',
    story: 'Whoever goes on with a move after a crash makes a second copy of what was copied already.',
    killedBy: {
      vitest: 'test/client/bulk-move.test.ts',
      test: 'in memory goes on after it died before change, later',
    },
  },
  {
    name: 'bulk-move-not-written-down-first',
    incidents: [],
    rule: 'R2',
    file: 'src/client/bulk/runner.ts',
    find: 'if (ids.length === 0) return { cursor, searched, changed: 0, refused: 0 }',
    replace:
      'if (ids.length >= 0) return { cursor, searched, ...(await moveJobs(this.#env, { id, queue: queue as string, jobs: ids })) }',
    story: 'A process dies after it has buried what it moves, and nobody knows that it was to be moved.',
    killedBy: {
      vitest: 'test/client/bulk-move.test.ts',
      test: 'in memory goes on after it died before insert',
    },
  },
  {
    name: 'errors-wait-for-the-clock',
    incidents: [],
    rule: 'R8',
    file: 'src/metrics/error-groups.ts',
    find: 'if (known === undefined && this.#isNews(made.id)) this.#parts.onNews()',
    replace: '',
    story: 'A list of errors is empty for seconds after the first one.',
    killedBy: { vitest: 'test/client/errors.test.ts', test: 'are seen by another process within a second' },
  },
]
