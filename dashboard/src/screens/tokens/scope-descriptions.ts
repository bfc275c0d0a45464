import type { Scope } from '../../../../src/operations/schema/wire-types.ts'

/** What each scope allows. */
export const SCOPE_DESCRIPTIONS: Readonly<Record<Scope, string>> = {
  enqueue: 'enqueue jobs',
  work: 'receive and acknowledge jobs',
  read: 'read everything',
  operate: 'change jobs, pauses, schedules and runs; includes read',
  admin: 'manage tokens, block queues, read the audit; includes operate',
}
