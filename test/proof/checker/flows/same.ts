import { isDeepStrictEqual } from 'node:util'

/** Whether two values are the same as JSON: in whatever order their fields are. */
export function same(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other)
}
