import { userInfo } from 'node:os'
import type { Arguments } from '../arguments.ts'
import type { Flag } from '../command.ts'

export const BY_FLAG: Flag = {
  kind: 'text',
  value: 'name',
  help: 'Who says so. Default: your user name',
}

/** Who is named as the one who did it: what --by says, else the user. */
export function personOf(args: Arguments): string | undefined {
  const said = args.text('by')
  if (said !== undefined) return said
  try {
    return userInfo().username
  } catch {
    return undefined // A container may run as a user without a name.
  }
}
