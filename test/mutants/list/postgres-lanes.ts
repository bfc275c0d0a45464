import type { Mutant } from '../mutant.ts'

/** Lanes, limits and holds on Postgres. */
export const POSTGRES_LANES_MUTANTS: readonly Mutant[] = [
  {
    name: 'postgres-claims-pass-the-gate',
    incidents: [],
    rule: 'R2',
    file: 'src/stores/postgres/migrations/settle-function.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of the source.
    find: 'perform pg_advisory_xact_lock_shared(${gate(schema)});',
    replace: '',
    story: 'A hold answers while a claim is under way that takes jobs after it.',
    killedBy: { vitest: 'test/postgres/lanes.test.ts', test: 'waits for the claim that is under way' },
  },
  {
    name: 'postgres-claimers-of-a-line-collide',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/postgres/migrations/settle-function.ts',
    find: 'perform pg_advisory_xact_lock(q.k);',
    replace: 'null;',
    story: 'Two claims of a limited queue see the same room, and both fill it.',
    killedBy: { vitest: 'test/postgres/lanes.test.ts', test: 'with four claimers at once' },
  },
  {
    name: 'postgres-late-news-are-missed',
    incidents: [],
    rule: 'R12',
    file: 'src/stores/postgres/migrations/fold-line-function.ts',
    find: 'line.from_xid := seen_to;',
    replace: 'line.from_xid := pg_current_xact_id();',
    story: 'What a transaction tells that began before the last claim and commits after it is never read.',
    killedBy: { vitest: 'test/postgres/lanes.test.ts', test: 'keeps nobody from the lane' },
  },
  {
    name: 'postgres-locked-job-empties-its-lane',
    incidents: [],
    rule: 'R8',
    file: 'src/stores/postgres/migrations/serve-line-function.ts',
    find: 'or w.is_occupied or w.lane = any(stuck) as has_more',
    replace: 'or w.is_occupied as has_more',
    story: 'A lane whose only job somebody looks at is taken for empty, and never looked at again.',
    killedBy: { vitest: 'test/postgres/lanes.test.ts', test: 'keeps a lane from being forgotten' },
  },
  {
    name: 'postgres-head-passes-what-became-due',
    incidents: [],
    rule: 'R8',
    file: 'src/stores/postgres/migrations/serve-line-function.ts',
    find: 'case when w.is_occupied or w.lane = any(stuck) then w.head',
    replace: 'case when w.lane = any(stuck) then w.head',
    story:
      'A job of a strict lane that becomes due while a later one waits for another try is never looked for again.',
    killedBy: {
      vitest: 'test/conformance/postgres.test.ts',
      test: 'comes back to a job that became due while a later one waited',
    },
  },
  {
    name: 'postgres-room-is-never-freed',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/postgres/migrations/ending.ts',
    find: 'true = any(q.frees)',
    replace: 'false',
    story: 'The end of a lease gives nothing back, so a limited queue stands still after a while.',
    killedBy: { vitest: 'test/postgres/lanes.test.ts', test: 'frees the room of what it has settled' },
  },
  {
    name: 'postgres-what-runs-is-not-counted',
    incidents: [],
    rule: 'R9',
    file: 'src/stores/postgres/migrations/limit-functions.ts',
    find: 'perform count_running(in_space, c.name);',
    replace: 'null;',
    story: 'A new limit does not count the jobs that run already, and lets as many again start.',
    killedBy: {
      vitest: 'test/conformance/postgres.test.ts',
      test: 'counts what runs already when a limit is set',
    },
  },
]
