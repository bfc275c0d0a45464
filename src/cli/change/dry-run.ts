import type { Call, Flag } from '../command.ts'

/** For changes of one thing; changes of many jobs print their number. */
export const DRY_RUN_FLAG: Flag = { kind: 'switch', help: 'Dry run: print changes without applying them' }

/** With --dry-run or its variable, prints what would be done. If true, nothing may be changed. */
export function onlySays({ args, out }: Call, would: string, facts: object): boolean {
  if (!args.on('dry-run')) return false
  if (out.json) out.object({ ...facts, dryRun: true })
  else out.data(`Would ${would}.`)
  return true
}
