import { givenAtFront, givenIn } from '../../core/flows/chains.ts'
import type { Outcome } from '../../core/flows/groups.ts'
import { GROUP_HEADER } from '../groups/members.ts'

/** What became of a job that another one follows. Results are JSON texts, as they are stored. */
export type RelayedResult =
  | { readonly ok: true; readonly result: string }
  | { readonly ok: false; readonly state: string; readonly message: string }

/** All results of a job together may have so many letters: they travel with it, and take of the room that its receiver has. */
const MOST_LETTERS = 1_048_576

const NONE: readonly RelayedResult[] = []

/** Where the results that a job follows are found: with it, by the group that it names, or nowhere. */
export function resultsIn(
  headers: string | null,
): { readonly given: readonly RelayedResult[] } | { readonly group: string } {
  if (headers === null) return { given: NONE }
  const front = givenAtFront(headers)
  if (front !== undefined) return { given: [{ ok: true, result: front }] }
  let all: Readonly<Record<string, string>>
  try {
    all = JSON.parse(headers) as Record<string, string>
  } catch {
    return { given: NONE }
  }
  const given = givenIn(all)
  if (given !== undefined) return { given: [{ ok: true, result: given }] }
  const group = all[GROUP_HEADER]
  return group === undefined ? { given: NONE } : { group }
}

/** What became of the members of a group; null if that is too much to travel with a job. */
export function relayedResults(outcomes: readonly Outcome[]): readonly RelayedResult[] | null {
  const results = outcomes.map(resultOf)
  return lettersOf(results) > MOST_LETTERS ? null : results
}

function resultOf({ state, result, failure }: Outcome): RelayedResult {
  if (state === 'done') return { ok: true, result: result ?? 'null' }
  const said = failure === null ? null : (JSON.parse(failure) as { readonly message?: string })
  return { ok: false, state, message: said?.message ?? `It was ${state}.` }
}

/** How much they take on their way, about. */
export function lettersOf(results: readonly RelayedResult[]): number {
  return results.reduce((sum, one) => sum + 30 + (one.ok ? one.result.length : one.message.length), 0)
}
