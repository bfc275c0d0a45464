/**
 * The parts of `settle_and_claim` that end leases. They see one group of settlements: its space and token, where it `goes`,
 * and `part`, the ids of its jobs.
 */
import { NOBODY } from '../locks.ts'
import { dayOf, secondOf } from '../plan-settings.ts'
import { arrivalOf, JOB_COLUMNS } from './tables.ts'

// Jobs of the group that its token holds now, which is what every verdict is about. `state + 0` hides the state
// from the planner: it would else read the whole index of running jobs when it believes that there are few.
const HELD = `j.id = any(part) and j.space = my_space and j.state + 0 = 2 and j.token = my_token
                    and (not only_expired or (j.lease_until <= t and j.id = any(free)))`

// Results, failures and delays come in arrays beside the ids, which are empty when there are none at all.
const slice = (name: string): string => `${name}[first:first + size - 1]`
const TEXTS = `left join unnest(part, ${slice('results')}, ${slice('failures')})
                    as v(id, result, failure) on v.id = x.id`

const COUNTERS: Readonly<Record<string, string>> = {
  starts: 'x.starts - refund',
  errors: 'x.errors + (counter = 1)::integer',
  timeouts: 'x.timeouts + (counter = 2)::integer',
  lost: 'x.lost + (counter = 3)::integer',
  snoozes: 'x.snoozes + (counter = 4)::integer',
}

const BACK = `update jobs x set state = goes, token = kept_token, lease_until = null,
                        ${Object.entries(COUNTERS)
                          .map(([name, value]) => `${name} = ${value}`)
                          .join(', ')},
                        result = v.result,
                        failure = coalesce(v.failure, x.failure),
                        due_at = case when goes = 0 then t + v.delay when stays then x.due_at else t end,
                        rank = case when x.is_strict then x.rank
                            else case when goes = 0 then t + v.delay when stays then x.due_at else t end
                                - x.priority * 600000::bigint end
                    from unnest(part, ${slice('results')}, ${slice('failures')},
                        ${slice('delays')}) as v(id, result, failure, delay)
                    where v.id = x.id and ${HELD.replaceAll('j.', 'x.')} and x.cancel_reason is null
                    returning x.id, x.space, x.queue, x.rank, x.due_at, x.lane, x.counted`

const CONCERNS_LANE = 'y.counted or (lands = 1 and y.lane is not null)'
// What has to be known of jobs that ended, and of jobs that went back.
const KEYS = `array_agg(y.id) filter (where y.unique_scope < 2) as keyed, null::bigint as rank, null::bigint as due_at,
                    null::bigint[] as dues, null::bigint[] as ranks`
/** The members among them, with the failure that they had before, or instead of the verdict's. */
const members = (
  failure: string,
): string => `array_agg(row(y.group_id, y.nth, y.id, coalesce(lands, goes), null,
                        ${failure})::outcomes) filter (where y.group_id is not null and not hands_on) as members`
const PLACES = `null::uuid[] as keyed, min(y.rank) as rank, min(y.due_at) as due_at,
                    array_agg(y.due_at) filter (where goes = 0) as dues,
                    array_agg(case when goes = 1 then y.rank end) filter (where ${CONCERNS_LANE}) as ranks,
                    null::outcomes[] as members`

/**
 * What of the jobs concerns their lanes: leases that limits have counted, and places in a lane; or what the verdict says. Nothing here is
 * distinct: that would sort all jobs of the settlement.
 */
const LANES = `array_agg(coalesce(y.lane, '')) filter (where ${CONCERNS_LANE}) as lanes,
                    array_agg(y.counted is true) filter (where ${CONCERNS_LANE}) as frees,
                    array_agg(coalesce(y.lane, '')) filter (where concerns_lane) as concerned`

/**
 * Runs a statement whose CTE `gone` has the jobs that it moved, and keeps account of them: in the counts, in the unique
 * keys they let go of (by the job's own id, so the key of a later job is never touched), in `ended`, and in `hit`.
 * `lands` is the state they went to, or null.
 */
function moving(gone: string, lands: string, more: string, tells: string): string {
  return `
            lands := ${lands};
            for q in
                with gone as (${gone})${more}
                select y.space, y.queue, count(*) as n, array_agg(y.id) as ids,
                    ${tells}, ${LANES}
                from gone y group by y.space, y.queue
            loop
                if lands = 0 then
                    insert into deltas (space, queue, running, delayed, due_second)
                    select q.space, q.queue, -count(*), count(*), ${secondOf('d.due_at')} as due_second
                    from unnest(q.dues) as d(due_at) group by 5;
                else
                    insert into deltas (space, queue, day, running, ready, done, failed, dead, cancelled)
                    values (q.space, q.queue, case when lands in (3, 4, 6) then ${dayOf('t')} else -1 end, -q.n,
                        case when lands = 1 then q.n else 0 end,
                        case when lands = 3 then q.n else 0 end, case when lands = 4 then q.n else 0 end,
                        case when lands = 5 then q.n else 0 end, case when lands = 6 then q.n else 0 end);
                end if;
                if q.lanes is not null and (lands = 1 or true = any(q.frees)) then
                    insert into news (space, queue, lanes, frees, ranks)
                    values (q.space, q.queue, q.lanes, q.frees, q.ranks);
                end if;
                if q.concerned is not null then
                    insert into news (space, queue, lane, wait_until, pause, at)
                    select distinct q.space, q.queue, u.lane, t + lane_wait, lane_pause, t from unnest(q.concerned) as u(lane);
                end if;
                if lands < 2 then
                    waiting := waiting || json_build_array(q.space, q.queue, lands, q.rank, q.due_at);
                elsif q.keyed is not null and is_careful then
                    -- It stays reserved for what comes.
                    update uniques u set job_id = ${NOBODY}, until = t
                    where u.until is null and u.job_id = any(q.keyed) and u.space || '' = q.space;
                elsif q.keyed is not null then
                    delete from uniques u where u.until is null and u.job_id = any(q.keyed) and u.space || '' = q.space;
                end if;
                if lands is null then
                    insert into discarded (at, space, queue, token, state, ids)
                    values (t, q.space, q.queue, kept_token, goes, q.ids);
                end if;
                if q.members is not null then
                    ended := ended || array(
                        select row(m.group_id, m.nth, m.id, m.state, v.result,
                            case when goes < 3 then m.failure else coalesce(v.failure, m.failure) end)::outcomes
                        from unnest(q.members) as m left join unnest(part, ${slice('results')}, ${slice('failures')})
                            as v(id, result, failure) on v.id = m.id);
                end if;
                hit := hit || q.ids;
            end loop;`
}

/** Moves what is in `gone` to the archive, some columns changed. */
function archiving(changes: Readonly<Record<string, string>>, keep: string, texts: boolean): string {
  const all: Readonly<Record<string, string>> = {
    ...COUNTERS,
    arrival: arrivalOf('x'),
    token: 'kept_token',
    group_id: 'case when not hands_on then x.group_id end',
    nth: 'case when not hands_on then x.nth end',
    ...changes,
  }
  const columns = JOB_COLUMNS.map((name) => all[name] ?? `x.${name}`)
  return `, put as (
                    insert into archive (${JOB_COLUMNS.join(', ')}, finished_at, expires_at)
                    select ${columns.join(', ')}, t, t + ${keep}
                    from gone x ${texts ? TEXTS : ''}
                )`
}

/** Removed at once. `discarded` remembers the ids. */
export const DISCARD: string = `${moving(
  `delete from jobs j where ${HELD}
                    returning j.id, j.space, j.queue, j.unique_scope, j.lane, j.counted, j.group_id, j.nth`,
  'null',
  '',
  `${KEYS}, ${members('null')}`,
)}
            if hit is not null then
                if fields[11] = '1' then
                    perform remove_notes(hit, my_space);
                end if;
            end if;`

const ENDED = `${KEYS}, ${members('case when goes <> 3 then y.failure end')}`
const TAKE_OUT = `delete from jobs j where ${HELD} returning j.*`

/** Kept as ended, with what the handler returned or threw. */
export const ARCHIVE_WITH_TEXTS: string = moving(
  TAKE_OUT,
  'goes',
  archiving(
    {
      state: 'goes',
      result: 'v.result',
      failure: 'coalesce(v.failure, case when goes <> 3 then x.failure end)',
    },
    'keep',
    true,
  ),
  ENDED,
)

/** The same when there is nothing to keep with them. */
export const ARCHIVE: string = moving(
  TAKE_OUT,
  'goes',
  archiving(
    { state: 'goes', result: 'null', failure: 'case when goes <> 3 then x.failure end' },
    'keep',
    false,
  ),
  ENDED,
)

/** Back to waiting. */
export const WAIT: string = moving(BACK, 'goes', '', PLACES)

const stoppedBy = (job: string): string =>
  `'{"kind":"cancel","message":' || to_json(${job}.cancel_reason)::text || '}'`

/** Those of WAIT that somebody cancelled while they ran: whoever did so was told that they will not start again. */
export const STOP_CANCELLED: string = `
            held_back := hit;
            hit := null;${moving(
              `delete from jobs j where ${HELD} and j.cancel_reason is not null returning j.*`,
              '6',
              archiving(
                {
                  state: '6',
                  result: 'v.result',
                  failure: stoppedBy('x'),
                },
                'keep_cancelled',
                true,
              ),
              `${KEYS}, ${members(stoppedBy('y'))}`,
            )}
            stopped := hit;
            hit := held_back;`

// Where the jobs went that this token removed. It names nothing of the job that is asked for, so it is read at most once.
const REMEMBERED = `(select jsonb_object_agg(x.id, d.state) from discarded d, unnest(d.ids) as x(id)
                        where d.token = kept_token and d.space = my_space)`

/**
 * The jobs of the group that were not touched, and why: [n, state, 0] if this token settled it before, [n, state, 1]
 * if it was stopped just now, [n, reason] if it is refused (a 0 may follow). To a rescue nothing is a repetition.
 */
export const ODD: string = `
            odds := odds || (
                select array_agg(case
                    when p.id = any(stopped) then json_build_array(first + p.n - 1, 6, 1)
                    when j.token = my_token and j.state = 2 then json_build_array(first + p.n - 1, 'not-expired')
                    when j.token = kept_token then json_build_array(first + p.n - 1, j.state, 0)
                    when j.id is not null then json_build_array(first + p.n - 1, 'lost')
                    when a.token = kept_token then json_build_array(first + p.n - 1, a.state, 0)
                    when a.id is null then json_build_array(first + p.n - 1, coalesce(${REMEMBERED} -> p.id::text,
                        '"gone"'), 0)
                    else json_build_array(first + p.n - 1, 'gone') end)
                from unnest(part) with ordinality as p(id, n)
                    left join lateral (select x.id, x.token, x.state from jobs x
                        where x.id = p.id and x.space = my_space) j on true
                    left join lateral (select x.id, x.token, x.state from archive x
                        where x.id = p.id and x.space || '' = my_space) a on true
                where not (p.id = any(hit)));`
