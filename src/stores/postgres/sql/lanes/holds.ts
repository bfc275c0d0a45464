import { CLOCK } from '../plan-settings.ts'
import { gate, lanePins, NEVER } from './rules.ts'

const AS_JSON = `json_build_array(h.kind, nullif(h.space, ''), nullif(h.queue, ''), case when h.has_lane then h.lane end,
            h.reason, h.by_whom, h.since, h.until)`

const SAME = (of: string): string => `h.kind = ${of}.kind and h.space = ${of}.space and h.queue = ${of}.queue
            and h.has_lane = ${of}.has_lane and h.lane = ${of}.lane`

// One row for each hold of the call, in order.
const CALLED = `json_to_recordset(calls) as c(kind text, space text, queue text, has_lane boolean, lane text,
            pattern text, reason text, by_whom text, for_ms bigint)`

/**
 * hold_jobs and release_holds: put and take away holds, and tell the lanes concerned. They wait for the claims that are
 * under way, and for nothing else. list_holds: the holds that stand; all of them, or those that concern a space.
 *
 * A handler that pauses its lane may be part of a user's transaction, so it waits for nobody: its pause is news at first,
 * and the next claim, hold or release of that queue makes a row of it.
 */
export function holdFunctions(schema: string): string {
  return `
create function ${schema}.put_pauses(in_space text, in_queue text) returns void
language sql ${lanePins(schema)}
as $function$
    with gone as (
        delete from news x where x.space = in_space and x.queue = in_queue and x.pause is not null returning x.*
    ), paused as (
        insert into holds (kind, space, queue, has_lane, lane, reason, by_whom, since)
        select distinct on (g.lane) 'pause', in_space, in_queue, true, g.lane, g.pause, 'skep',
            min(g.at) over (partition by g.lane)
        from gone g order by g.lane, g.xid desc
        on conflict (kind, space, queue, has_lane, lane) do update
            set reason = excluded.reason, by_whom = excluded.by_whom, until = null,
                since = case when holds.until <= excluded.since then excluded.since else holds.since end
    )
    insert into news (space, queue, lane, held, wait_until)
    select in_space, in_queue, g.lane, true, max(g.wait_until) from gone g group by g.lane;
$function$;

create function ${schema}.hold_jobs(calls json, at bigint) returns text
language plpgsql ${lanePins(schema)}
as $function$
declare
    t bigint;
    c record;
    put json[];
begin
    perform pg_advisory_xact_lock(${gate(schema)});
    t := coalesce(at, ${CLOCK});
    for c in select * from ${CALLED} loop
        if c.has_lane then
            perform put_pauses(c.space, c.queue);
        end if;
        insert into holds as h (kind, space, queue, has_lane, lane, pattern, reason, by_whom, since, until)
        values (c.kind, c.space, c.queue, c.has_lane, c.lane, c.pattern, c.reason, c.by_whom, t, t + c.for_ms)
        on conflict (kind, space, queue, has_lane, lane) do update
            set reason = excluded.reason, by_whom = excluded.by_whom, until = excluded.until,
                since = case when h.until <= t then excluded.since else h.since end;
        put := put || (select ${AS_JSON} from holds h where ${SAME('c')});
        if c.has_lane then
            insert into news (space, queue, lane, held) values (c.space, c.queue, c.lane, true);
        end if;
    end loop;
    return array_to_json(put)::text;
end $function$;

create function ${schema}.release_holds(calls json, at bigint) returns text
language plpgsql ${lanePins(schema)}
as $function$
declare
    t bigint;
    c record;
    ended bigint;
    released boolean[];
begin
    perform pg_advisory_xact_lock(${gate(schema)});
    t := coalesce(at, ${CLOCK});
    for c in select * from ${CALLED} loop
        if c.has_lane then
            perform put_pauses(c.space, c.queue);
        end if;
        ended := null;
        delete from holds h where ${SAME('c')} returning coalesce(h.until, ${NEVER}) into ended;
        released := released || coalesce(ended > t, false);
        if c.has_lane and ended > t then
            insert into news (space, queue, lane, held) values (c.space, c.queue, c.lane, true);
        end if;
    end loop;
    return array_to_json(released)::text;
end $function$;

create function ${schema}.list_holds(in_space text, at bigint) returns text
language sql stable ${lanePins(schema)}
as $function$
    with told as (
        select 'pause' as kind, x.space, x.queue, true as has_lane, x.lane, min(x.at) as since,
            (array_agg(x.pause order by x.xid desc))[1] as reason
        from news x where x.pause is not null and (in_space is null or x.space = in_space)
        group by x.space, x.queue, x.lane
    )
    select json_agg(${AS_JSON} order by h.since, h.n, h.queue, h.lane)::text
    from (
        select h.n, h.kind, h.space, h.queue, h.has_lane, h.lane, coalesce(w.reason, h.reason) as reason,
            case when w.reason is null then h.by_whom else 'skep' end as by_whom, h.since,
            case when w.reason is null then h.until end as until
        from holds h left join told w on ${SAME('w')}
        where h.until is null or h.until > coalesce(at, ${CLOCK})
        union all
        select ${NEVER}, w.kind, w.space, w.queue, w.has_lane, w.lane, w.reason, 'skep', w.since, null
        from told w where not exists (select 1 from holds h where ${SAME('w')}
            and (h.until is null or h.until > coalesce(at, ${CLOCK})))
    ) h
    where in_space is null or h.space in ('', in_space);
$function$;
`
}
