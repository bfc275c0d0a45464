import type { Scope } from '../../../../src/operations/schema/wire-types.ts'

/** What somebody with a scope may do. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  enqueue: 'enqueue jobs',
  work: 'receive jobs and answer for them',
  read: 'look at everything',
  operate: 'change jobs, holds, schedules and runs; includes read',
  admin: 'give tokens, block queues, read the audit; includes operate',
}
