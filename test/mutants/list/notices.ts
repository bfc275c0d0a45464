import type { Mutant } from '../mutant.ts'

const killedBy = (test: string) => ({ vitest: 'test/worker/notices.test.ts', test })

/** What can go wrong with notices. */
export const NOTICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'notice-resume-tells-of-one-page',
    incidents: [],
    rule: 'R7',
    file: 'src/client/jobs/renew-notices.ts',
    find: 'while (cursor !== null)',
    replace: 'while (false)',
    story: 'After a hold only the first jobs get notices again, and the others wait for sweeps.',
    killedBy: killedBy('D48: are sent again for every waiting job when a hold on its queue ends'),
  },
  {
    name: 'notice-lost-for-ever',
    incidents: [],
    rule: 'R7',
    file: 'src/worker/worker.ts',
    find: 'sweepAt = runtime.mono() + SWEEP_MS * (0.75 + runtime.random() / 4)',
    replace: 'sweepAt = Infinity',
    story: 'Nobody sweeps, so a job whose notice was lost never runs.',
    killedBy: killedBy('that were lost are made up for by the sweep'),
  },
  {
    name: 'notice-dropped-before-it-is-due',
    incidents: [],
    rule: 'R7',
    file: 'src/worker/claim-by-id.ts',
    find: 'if (waitMs <= this.#options.sweepMs) held.rest.push({ id, waitMs })',
    replace: '',
    story: 'The notice of a delayed job is acked, so the job is late by up to a sweep.',
    killedBy: killedBy('D29, D60, D62: of jobs that are not due are put back until then'),
  },
  {
    name: 'notice-searched-for-all-the-same',
    incidents: [],
    rule: 'R7',
    file: 'src/worker/prefetch.ts',
    find: 'const isUp = told?.isUp === true',
    replace: 'const isUp = false',
    story: 'The worker goes on searching along with every outcome, although notices tell it of all there is.',
    killedBy: killedBy('D2, D4, D21, D27: jobs run although nobody searches the store for them'),
  },
  {
    name: 'notice-waiting-is-buried',
    incidents: [],
    rule: 'R7',
    file: 'src/worker/held-notice.ts',
    find: 'if (this.notice.deliveries >= NOTICE_DELIVERIES - 1) return null',
    replace: '',
    story: 'A notice that only waits for a long run to end is buried for coming so often.',
    killedBy: killedBy('of jobs that wait for long are not buried for it'),
  },
  {
    name: 'notice-kept-by-a-stopped-worker',
    incidents: [],
    rule: 'R7',
    file: 'src/worker/claim-by-id.ts',
    find: 'for (const held of this.#held) if (held.asked === 0) this.#giveBack(held, 0)',
    replace: '',
    story: 'A worker that stops takes its notices along, and their jobs wait until they were kept too long.',
    killedBy: killedBy('that a worker still has go back at once when it stops'),
  },
]
