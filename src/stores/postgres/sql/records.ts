import { CLOCK, flowPins } from './plan-settings.ts'

/** Records of all kinds. Ids compare byte by byte, so a list is in the order in which every store gives it. */
export function recordTables(schema: string): string {
  return `
create table ${schema}.records (
    written_at bigint not null,
    expires_at bigint,
    scope text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    revision text collate "C" not null,
    body text not null,
    primary key (scope, kind, id)
) with (fillfactor = 80, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
create index records_expiry on ${schema}.records (expires_at) where expires_at is not null;
`
}

/**
 * put_records: writes records, all or none. Of each comes what is expected: null for whatever is there, '-' for none, or '='
 * and a revision. Returns for each, in order, whether it was accepted.
 *
 * Rows are locked in the order of their ids, those that are not there by making them: so two who write the same ones wait for
 * each other and never in a circle, and the second sees what the first has written. A row that was only made to be locked
 * goes again when the call is refused; nobody has seen it.
 *
 * list_records: a page of those that live, one more than `most` to tell whether there are others. `since` and `till` are
 * bounds that are always there: no printable ASCII is before the empty text nor after '\\x7f'.
 *
 * remove_records: in the same order of locks. Returns those that lived.
 *
 * prune_records: removes up to `most` whose time is over. Whoever is writing one is not waited for.
 */
export function recordFunctions(schema: string): string {
  return `
create function ${schema}.put_records(in_scope text, of_kind text, ids text[], bodies text[], revisions text[],
    expected text[], ends bigint[], at bigint)
returns boolean[]
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    accepted boolean[] := array_fill(true, array[cardinality(ids)]);
    made text[] := '{}';
    item record;
    known text;
    lives boolean;
begin
    if exists (select 1 from unnest(expected) e where e is not null) then
        for item in
            select g.id, g.revision, g.expect, g.n::integer as n
            from unnest(ids, revisions, expected) with ordinality g (id, revision, expect, n)
            order by g.id collate "C"
        loop
            loop
                select r.revision, r.expires_at is null or r.expires_at > t into known, lives
                from records r where r.scope = in_scope and r.kind = of_kind and r.id = item.id
                for update;
                exit when found;
                insert into records (scope, kind, id, body, revision, written_at, expires_at)
                values (in_scope, of_kind, item.id, '', '', t, t) on conflict do nothing;
                if found then
                    made := made || item.id;
                    lives := false;
                    exit;
                end if;
                -- Somebody else was quicker; its row is there now.
            end loop;
            accepted[item.n] := case
                when item.expect is null then true
                when lives then known = item.revision or '=' || known = item.expect
                else item.expect = '-' end;
        end loop;
        if false = any(accepted) then
            delete from records r
            where r.scope = in_scope and r.kind = of_kind and r.id = any(made);
            return accepted;
        end if;
    end if;
    insert into records as r (scope, kind, id, body, revision, written_at, expires_at)
    select in_scope, of_kind, g.id, g.body, g.revision, t, g.expires_at
    from unnest(ids, bodies, revisions, ends) g (id, body, revision, expires_at)
    order by g.id collate "C"
    on conflict (scope, kind, id) do update set body = excluded.body, revision = excluded.revision,
        written_at = excluded.written_at, expires_at = excluded.expires_at;
    return accepted;
end $function$;

create function ${schema}.list_records(in_scope text, of_kind text, since text, till text, is_backwards boolean, most bigint,
    at bigint)
returns table (id text, body text, revision text, expires_at bigint, written_at bigint)
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
begin
    if is_backwards then
        return query
        select r.id::text, r.body, r.revision::text, r.expires_at, r.written_at from records r
        where r.scope = in_scope and r.kind = of_kind and r.id >= since and r.id < till
            and (r.expires_at is null or r.expires_at > t)
        order by r.id desc limit most;
    else
        return query
        select r.id::text, r.body, r.revision::text, r.expires_at, r.written_at from records r
        where r.scope = in_scope and r.kind = of_kind and r.id >= since and r.id < till
            and (r.expires_at is null or r.expires_at > t)
        order by r.id limit most;
    end if;
end $function$;

create function ${schema}.remove_records(in_scope text, of_kind text, ids text[], at bigint) returns setof text
language sql ${flowPins(schema)}
as $function$
    with locked as (
        select r.id from records r where r.scope = $1 and r.kind = $2 and r.id = any($3)
        order by r.id for update
    ), removed as (
        delete from records r where r.scope = $1 and r.kind = $2 and r.id in (select l.id from locked l)
        returning r.id, r.expires_at
    )
    select r.id::text from removed r where r.expires_at is null or r.expires_at > coalesce($4, ${CLOCK});
$function$;

create function ${schema}.prune_records(most bigint, t bigint) returns void
language sql ${flowPins(schema)}
as $function$
    delete from records r where r.ctid = any(array(
        select x.ctid from records x where x.expires_at <= t order by x.expires_at limit most for update skip locked));
$function$;
`
}
