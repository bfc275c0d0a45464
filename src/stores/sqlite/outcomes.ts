import type { Outcome } from '../../core/groups.ts'
import { type FinalState, JOB_STATES } from '../../core/job.ts'
import type { OpenMember, OpenMembersCall, OutcomesCall } from '../../store/flows.ts'
import { findGroup } from './groups.ts'
import type { Turn } from './turn.ts'

type Reader = Pick<Turn, 'db'>

const LIST = `select n, id, state, result, failure from skep_outcomes
  where group_id = ? and n >= ? order by n limit ?`

/** What became of the members of each group, by number. */
export function outcomes(turn: Reader, { space, groups, from, limit }: OutcomesCall): Outcome[][] {
  return groups.map((group) => {
    if (findGroup(turn, group)?.space !== space) return []
    return turn.db.all(LIST, group, from, limit).map(([n, id, state, result, failure]) => ({
      n: n as number,
      id: id as string | null,
      state: JOB_STATES[state as number] as FinalState,
      result: result as string | null,
      failure: failure as string | null,
    }))
  })
}

// Each half comes in order from its index, so that a page reads little more than it has.
const open = (table: string, kind: OpenMember['kind']): string => `
  select member as n, m.id as id, '${kind}' as kind from ${table} m where group_id = ? and member >= ?
    and not exists (select 1 from skep_outcomes o where o.group_id = m.group_id and o.n = m.member)`
export const OPEN_MEMBERS: string = `${open('skep_jobs', 'job')} union all ${open('skep_runs', 'run')} order by n limit ?`

/** Jobs and runs that have not ended, by number. */
export function openMembers(turn: Reader, { space, group, from, limit }: OpenMembersCall): OpenMember[] {
  if (findGroup(turn, group)?.space !== space) return []
  return turn.db.all(OPEN_MEMBERS, group, from, group, from, limit).map(([n, id, kind]) => ({
    n: n as number,
    id: id as string,
    kind: kind as OpenMember['kind'],
  }))
}
