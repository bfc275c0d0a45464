/** The parts of `settle_and_claim` that lease jobs. They see `s`, a source, `lease`, and `room`, how many to take. */

// What is usual is told by null, which costs nothing to send: no priority, due when it was enqueued, started once.
const COUNTERS = `case when x.starts <> 1 or x.generation <> 0 or x.errors <> 0 or x.timeouts <> 0 or x.lost <> 0
                    or x.snoozes <> 0 then concat_ws(',', x.starts, x.errors, x.timeouts, x.lost, x.snoozes,
                    x.generation) end`

function taking(where: string): string {
  return `
                return query
                with taken as (
                    update jobs j set state = 2, token = lease.token, worker = lease.worker,
                        lease_until = t + lease.ms, started_at = t, starts = j.starts + 1
                    where ${where}
                    returning j.id, j.payload, j.headers, j.overrides, j.priority, j.due_at, j.enqueued_at, j.starts,
                        j.errors, j.timeouts, j.lost, j.snoozes, j.generation, j.unique_scope
                ), freed as (
                    delete from uniques u where u.until is null
                        and u.job_id = any(array(select x.id from taken x where x.unique_scope = 0))
                )
                select nullif(nth, 1), x.id, x.payload, x.headers, x.overrides, nullif(x.priority, 0), x.due_at,
                    nullif(x.enqueued_at, x.due_at), ${COUNTERS}
                from taken x;
                get diagnostics n = row_count;
                if n > 0 then
                    insert into deltas (space, queue, ready, running) values (s.space, s.queue, -n, n);
                    taken_in_all := taken_in_all + n;
                end if;`
}

/** The lowest ranks. The rows that were just locked are found again by their place, which costs less than by ids. */
export const CLAIM: string = taking(`j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.space = s.space and c.queue = s.queue and c.state = 1
                            and (c.rank, c.id) >= (s.rank, s.id)
                        order by c.rank, c.id limit room for update skip locked))`)

/** Those of the named jobs that are in this source and due. */
export const CLAIM_NAMED: string = `
                chosen := array(
                    select w.id from unnest(lease.ids) with ordinality as w(id, n),
                        lateral (select 1 from jobs k where k.id = w.id
                            and k.space = s.space and k.queue = s.queue
                            and k.state in (0, 1) and k.due_at <= t) k
                    order by w.n limit room);
                update jobs j set state = 1
                where j.id = any(chosen) and j.state + 0 = 0 and j.due_at <= t
                    and j.space = s.space and j.queue = s.queue;
                get diagnostics n = row_count;
                if n > 0 then
                    insert into deltas (space, queue, delayed, ready) values (s.space, s.queue, -n, n);
                end if;${taking(`j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.id = any(chosen) and c.state + 0 = 1 and c.due_at <= t
                        for update skip locked))`)}`

/** Delayed jobs whose time has come. Their rank, and so their place, stays. */
export const PROMOTE: string = `
                update jobs j set state = 1
                where j.ctid = any(array(
                    select c.ctid from jobs c
                    where c.space = s.space and c.queue = s.queue and c.state = 0
                        and c.due_at >= s.due and c.due_at <= t
                    order by c.due_at limit 1000 for update skip locked));
                get diagnostics n = row_count;
                if n > 0 then
                    insert into deltas (space, queue, delayed, ready) values (s.space, s.queue, -n, n);
                end if;
                crowded := crowded or n = 1000;`

/** When the next delayed job of the source is due, if there is one. */
export const NEXT_DUE: string = `
                select j.due_at into due from jobs j
                where j.space = s.space and j.queue = s.queue and j.state = 0 and j.due_at >= s.due
                order by j.due_at limit 1;`
