import { UNMADE_MS } from '../../../core/flows/groups.ts'
import type { Row } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'

const GROUP = 0
const RUN = 1

/**
 * Removes groups that nobody waits for and runs, when their time is over, about `limit` rows at most. A group or the
 * top of a run goes at once, so that nothing finds it half; what belongs to it is put down as leaving, and follows here
 * or in the next call. True if something is left.
 */
export function pruneFlows({ db }: Pick<Turn, 'db'>, limit: number, now: number): boolean {
  let room = limit
  room -= takeAway(
    db.all(
      'delete from skep_groups where g in (select g from skep_groups where expires_at <= ? limit ?) returning id, space',
      now,
      room,
    ),
    GROUP,
  )
  room -= takeAway(removeRuns('expires_at <= ?', [now], room), RUN)
  room -= db.run(
    `delete from skep_outcomes where (group_id, n) in
      (select group_id, n from skep_outcomes where alone_since <= ? limit ?)`,
    now - UNMADE_MS,
    room,
  )
  while (room > 0) {
    const next = db.get('select kind, id, space from skep_leaving order by kind, id, space limit 1')
    if (!next) return false
    const [kind, id, space] = next as [number, string, string]
    const removed = kind === GROUP ? removeOutcomes(id, room) : removeBelow(id, space, room)
    if (removed < room)
      db.run('delete from skep_leaving where kind = ? and id = ? and space = ?', kind, id, space)
    room -= removed + 1
  }
  return true

  function takeAway(gone: readonly Row[], kind: number): number {
    const sql = 'insert or ignore into skep_leaving (kind, id, space) values (?, ?, ?)'
    for (const [id, space] of gone) db.run(sql, kind, id as string, space as string)
    return gone.length
  }

  function removeOutcomes(group: string, most: number): number {
    return db.run(
      `delete from skep_outcomes where group_id = ? and n in
        (select n from skep_outcomes where group_id = ? limit ?)`,
      group,
      group,
      most,
    )
  }

  /** Takes away the groups of a run, and the runs of which it is the top. */
  function removeBelow(run: string, space: string, most: number): number {
    const groups = takeAway(
      db.all(
        'delete from skep_groups where g in (select g from skep_groups where run = ? and space = ? limit ?) returning id, space',
        run,
        space,
        most,
      ),
      GROUP,
    )
    return groups + takeAway(removeRuns('space = ? and root = ?', [space, run], most - groups), RUN)
  }

  function removeRuns(which: string, values: readonly (number | string)[], most: number): readonly Row[] {
    const gone = db.all(
      `delete from skep_runs where r in (select r from skep_runs where ${which} limit ?) returning id, space, attributes`,
      ...values,
      most,
    )
    for (const [id, space, attributes] of gone)
      db.run(
        `delete from skep_run_attributes where space = ? and id = ?
          and attribute in (select value from json_each(?))`,
        space as string,
        id as string,
        attributes as string,
      )
    return gone
  }
}
