import type { Mutant } from '../mutant.ts'

const SUITE = 'test/conformance/sqlite.test.ts'

/** Lanes, limits and holds on SQLite. */
export const SQLITE_LANES_MUTANTS: readonly Mutant[] = [
  {
    name: 'sqlite-rules-remembered-for-ever',
    incidents: [],
    rule: 'R2',
    file: 'src/stores/sqlite/lanes/rules.ts',
    find: 'if (version === this.#version) return',
    replace: 'if (this.#version !== null) return',
    story: 'A process goes on claiming from a queue that another process has put on hold.',
    killedBy: {
      vitest: 'test/sqlite/lanes.test.ts',
      test: 'see a hold of the other at their next claim, and its release',
    },
  },
  {
    name: 'sqlite-batch-leaks-room',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/sqlite/jobs/settle.ts',
    find: 'turn.lanes.vacateAll(line, ended, now)',
    replace: 'void ended',
    story: 'Leases that end together free no room, and after a while nothing starts any more.',
    killedBy: {
      vitest: 'test/sqlite/lanes.test.ts',
      test: 'see that a queue is limited since the other said so',
    },
  },
  {
    name: 'sqlite-large-batch-leaks-room',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/sqlite/lanes/lanes.ts',
    find: 'this.#count(line, -ids.length)',
    replace: 'this.#count(line, -Math.min(ids.length, 8))',
    story:
      'When more than eight leases of one lane end in one call, the rest of their room in the queue is lost.',
    killedBy: { vitest: SUITE, test: 'frees all room when many leases of one lane end in one call' },
  },
  {
    name: 'sqlite-limit-forgets-what-runs',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/sqlite/lanes/lanes.ts',
    find: 'line.meter = { ...line.meter, running }',
    replace: 'void running',
    story: 'What runs when a limit is set does not count, so more run than may.',
    killedBy: { vitest: SUITE, test: 'counts what runs already when a limit is set' },
  },
  {
    name: 'sqlite-strict-by-rank',
    incidents: [],
    rule: 'R12',
    file: 'src/stores/sqlite/connection/insert-buffer.ts',
    find: 'when strict then n else',
    replace: 'when strict and n < 0 then n else',
    story: 'A later job of a strict lane starts first because its priority is higher.',
    killedBy: { vitest: SUITE, test: 'goes by arrival, not by id, time or priority' },
  },
  {
    name: 'sqlite-named-overtakes',
    incidents: [],
    rule: 'R12',
    file: 'src/stores/sqlite/lanes/claim.ts',
    find: "if (head === undefined || head === 'waits' || head.n !== n) return false",
    replace: "if (head === undefined || head === 'waits') return false",
    story: 'A job that is asked for by name overtakes those before it in a strict lane.',
    killedBy: { vitest: SUITE, test: 'takes a named job only if it is at the head' },
  },
  {
    name: 'sqlite-lane-saves-turns',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/sqlite/lanes/lanes.ts',
    find: 'const isBehind = standing === STANDING.eligible && lane.turn < entry(line.clock)',
    replace: 'const isBehind = standing === STANDING.eligible && lane.turn < -9',
    story: 'A lane that was empty for a while starts all its jobs before the others get a turn.',
    killedBy: { vitest: SUITE, test: 'does not let a lane save up turns while it is empty' },
  },
  {
    name: 'sqlite-lane-idle-too-early',
    incidents: [],
    rule: 'R8',
    file: 'src/stores/sqlite/lanes/claim.ts',
    find: 'if (from.next === from.jobs.length && from.jobs.length < from.asked)',
    replace: 'if (from.next <= from.jobs.length && from.jobs.length <= from.asked)',
    story: 'A lane with jobs is taken for empty, and they never start.',
    killedBy: { vitest: SUITE, test: 'serves lanes in turn, however much waits in each' },
  },
]
