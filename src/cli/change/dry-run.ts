import type { Call, Flag } from '../command.ts'

/** For changes of one thing. Those of many jobs count them instead. */
export const DRY_RUN_FLAG: Flag = { kind: 'switch', help: 'Only say what it would do' }

/** With --dry-run, or its variable, says what would be done. True: that was all, and nothing may be changed. */
export function onlySays({ args, out }: Call, would: string, facts: object): boolean {
  if (!args.on('dry-run')) return false
  if (out.json) out.object({ ...facts, dryRun: true })
  else out.data(`Would ${would}.`)
  return true
}
