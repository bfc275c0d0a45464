import { userInfo } from 'node:os'
import type { Arguments } from '../arguments.ts'
import type { Flag } from '../command.ts'

export const BY_FLAG: Flag = {
  kind: 'text',
  value: 'name',
  help: 'Actor recorded with the change. Default: $USER',
}

/** The actor of a change: --by, or else the user. */
export function personOf(args: Arguments): string | undefined {
  const said = args.text('by')
  if (said !== undefined) return said
  try {
    return userInfo().username
  } catch {
    return undefined // A container may run as a user without a name.
  }
}
