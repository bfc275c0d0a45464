import type { Mutant } from '../mutant.ts'

const by =
  (file: string) =>
  (test: string): Mutant['killedBy'] => ({ vitest: `test/receivers/${file}.test.ts`, test })
const hub = by('hub')
const batch = by('ack-batch')

/** What can go wrong between the store and those who stream jobs. */
export const RECEIVER_MUTANTS: readonly Mutant[] = [
  {
    name: 'receiver-one-credit-too-many',
    incidents: [],
    rule: 'R9',
    file: 'src/server/receivers/receiver.ts',
    find: 'return Math.max(0, this.#credits - this.unacked)',
    replace: 'return Math.max(0, this.#credits - this.unacked + 1)',
    story: 'A receiver holds one job more than it asked for.',
    killedBy: hub('never gives a receiver more than its credits'),
  },
  {
    name: 'ack-last-word-counts',
    incidents: [],
    rule: 'R1',
    file: 'src/server/receivers/ack-batch.ts',
    find: 'if (this.#words[index] !== undefined) return\n',
    replace: '',
    story: 'One ack that is answered twice answers for another that has no word.',
    killedBy: batch('has one word on each'),
  },
  {
    name: 'ack-never-answered',
    incidents: [],
    rule: 'R17',
    file: 'src/server/receivers/ack-batch.ts',
    find: 'this.#left = 0\n    this.#finish()',
    replace: 'this.#left = 0',
    story: 'Acks that the store does not answer are never answered either.',
    killedBy: batch('is answered when the time is up'),
  },
]
