import { DUE_WIDTHS } from '../../../shared/due-counts.ts'
import { CLOCK, dayOf, fixedPath } from '../plan-settings.ts'
import { guardOf } from './tables.ts'

const FINISHED = ['done', 'failed', 'cancelled']
const UNDATED = ['delayed', 'ready', 'running', 'dead']
const ALL = [...UNDATED, ...FINISHED]

/** fold_deltas: adds the deltas to the tallies. One at a time; whoever comes second leaves it to the first. */
export function foldFunction(schema: string): string {
  return `
create function ${schema}.fold_deltas() returns boolean
language plpgsql ${fixedPath(schema)}
as $function$
declare
    empty tid[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('skep:fold:${schema}', 0)) then
        return false;
    end if;
    with folded as (
        delete from deltas where ctid = any(array(select d.ctid from deltas d limit 50000)) returning *
    ), due as (
        insert into dues (space, queue, width, start, jobs)
        select f.space, f.queue, w.width, f.due_second / w.width * w.width as start, sum(f.delayed)
        from folded f, (values ${DUE_WIDTHS.map((width) => `(${width})`).join(', ')}) as w(width)
        where f.due_second is not null
        group by f.space, f.queue, w.width, 4 having sum(f.delayed) <> 0
        on conflict (space, queue, width, start) do update set jobs = dues.jobs + excluded.jobs
        returning dues.ctid as spot, dues.jobs
    ), tallied as (
    insert into tallies (space, queue, day, ${ALL.join(', ')})
    select p.space, p.queue, p.day, ${ALL.map((name) => `sum(p.${name})`).join(', ')}
    from (
        select f.space, f.queue, -1 as day, ${UNDATED.join(', ')}, ${FINISHED.map((name) => `0 as ${name}`).join(', ')}
        from folded f
        union all
        select f.space, f.queue, f.day, 0, 0, 0, 0, ${FINISHED.join(', ')} from folded f where f.day >= 0
    ) p
    group by p.space, p.queue, p.day
    on conflict (space, queue, day) do update
        set ${ALL.map((name) => `${name} = tallies.${name} + excluded.${name}`).join(', ')}
    )
    select array_agg(d.spot) into empty from due d where d.jobs = 0;
    if empty is not null then
        -- None but this function writes here, and it is alone.
        delete from dues where ctid = any(empty);
    end if;
    return true;
end $function$;
`
}

/**
 * make_days: makes the archive's partitions for the day of `t` and the two that follow.
 *
 * drop_days: drops past days in which every job has expired and returns how many jobs went. A day with few jobs is
 * left to be deleted job by job, oldest first, until it is empty; and so is one that ended less than `young_ms` ago,
 * because the ids of jobs that just ended are remembered.
 *
 * Both run with the rights of the role that migrated, so that the application needs none to change tables. Waiting for
 * a lock they would hold up every settle behind them, so they give up soon: the next upkeep tries again. Nobody may call them who
 * was not granted it.
 */
export function dayFunctions(schema: string): string {
  return `
create function ${schema}.make_days(t bigint) returns void
language plpgsql security definer ${fixedPath(schema)}
    set lock_timeout = '200ms'
as $function$
declare
    name text;
begin
    for d in ${dayOf('t')}..${dayOf('t')} + 2 loop
        name := 'archive_' || to_char(to_timestamp(d * 86400.0) at time zone 'utc', 'YYYYMMDD');
        continue when to_regclass('${schema}.' || name) is not null;
        begin
            execute format('create table %I (like archive_days including defaults)', name);
            execute format($guard$${guardOf(schema, '%I')}$guard$, name);
            execute format('alter table archive_days attach partition %I for values from (%s) to (%s)',
                name, d * 86400000::bigint, (d + 1) * 86400000::bigint);
        exception
            -- Busy; or made by someone else; or the day has begun in archive_rest, where it then stays.
            when lock_not_available or deadlock_detected or duplicate_table or check_violation then null;
        end;
    end loop;
end $function$;

create function ${schema}.drop_days(t bigint, young_ms bigint) returns bigint
language plpgsql security definer ${fixedPath(schema)}
    set lock_timeout = '200ms'
as $function$
declare
    part record;
    d integer;
    jobs_in_day bigint;
    dropped bigint := 0;
    alive boolean;
begin
    for part in
        select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'archive_days'::regclass and c.relname ~ '^archive_[0-9]{8}$' order by c.relname
    loop
        d := extract(epoch from to_date(right(part.name, 8), 'YYYYMMDD'))::bigint / 86400;
        continue when d >= ${dayOf('(t - young_ms)')};
        begin
            execute format('select exists (select 1 from %I where expires_at > $1)', part.name) into alive using t;
        exception
            -- Another process has dropped it, or is dropping it.
            when undefined_table or lock_not_available then alive := true;
        end;
        continue when alive;
        select coalesce(sum(x.done + x.failed + x.cancelled), 0) into jobs_in_day
        from (select done, failed, cancelled from tallies where day = d
            union all select done, failed, cancelled from deltas where day = d) x;
        continue when jobs_in_day between 1 and 999 or (jobs_in_day = 0 and d >= ${dayOf('t')} - 2);
        begin
            execute format('lock table only archive_days, only %I in access exclusive mode', part.name);
            execute format('select exists (select 1 from %I where expires_at > $1)', part.name) into alive using t;
            if not alive and fold_deltas() then
                -- Nobody can add to this day any more, so what is counted now is all.
                with gone as (delete from tallies where day = d returning *)
                select coalesce(sum(done + failed + cancelled), 0) into jobs_in_day from gone;
                execute format('drop table %I', part.name);
                dropped := dropped + jobs_in_day;
            end if;
        exception
            when lock_not_available or deadlock_detected or undefined_table then null;
        end;
    end loop;
    return dropped;
end $function$;

revoke execute on function ${schema}.make_days(bigint), ${schema}.drop_days(bigint, bigint) from public;
revoke all on function ${schema}.make_days(bigint), ${schema}.drop_days(bigint, bigint) from public;
`
}

/** prune_jobs: removes up to `most` ended jobs whose time is over, oldest first, and other leftovers. */
export function pruneFunction(schema: string): string {
  return `
create function ${schema}.prune_jobs(most bigint, discarded_ms bigint, worker_ms bigint, at bigint) returns bigint
language plpgsql ${fixedPath(schema)}
    set enable_seqscan = off
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    dropped bigint;
    deleted bigint;
    gone uuid[];
    gone_spaces text[];
begin
    -- A test that owns the clock may be in any year; its jobs are at home in archive_rest.
    if abs(t - ${CLOCK}) < 86400000 then
        perform make_days(t);
    end if;
    dropped := drop_days(t, discarded_ms);
    with over as (
        delete from archive a where a.expires_at <= t and a.id = any(array(
            select x.id from archive x where x.expires_at <= t
            order by x.expires_at, x.id limit greatest(0, most - dropped) for update skip locked))
        returning a.id, a.space, a.queue, a.state, a.finished_at
    ), remembered as (
        -- The insert of a job that ended just now may yet be repeated.
        insert into discarded (at, space, queue, ids)
        select t, o.space, o.queue, array_agg(o.id) from over o where o.finished_at > t - discarded_ms
        group by o.space, o.queue
    ), counted as (
        insert into deltas (space, queue, day, done, failed, dead, cancelled)
        select o.space, o.queue, o.day, -count(*) filter (where o.state = 3), -count(*) filter (where o.state = 4),
            -count(*) filter (where o.state = 5), -count(*) filter (where o.state = 6)
        from (select *, case when state = 5 then -1 else ${dayOf('finished_at')} end as day from over) o
        group by o.space, o.queue, o.day
    )
    select count(*), array_agg(o.id), array_agg(o.space) into deleted, gone, gone_spaces from over o;
    delete from discarded d where d.at <= t - discarded_ms;
    delete from uniques u where u.ctid = any(array(select x.ctid from uniques x where x.until <= t for update skip locked));
    delete from workers w where w.seen_at <= t - worker_ms;
    perform remove_notes(array_agg(g.id), g.space) from unnest(gone, gone_spaces) as g(id, space) group by g.space;
    perform prune_notes(most, t);
    perform prune_records(most, t);
    delete from holds h where h.ctid = any(array(select x.ctid from holds x where x.until <= t for update skip locked));
    perform prune_lanes(t);
    perform prune_flows(most, t);
    perform fold_deltas();
    return dropped + deleted;
end $function$;
`
}
