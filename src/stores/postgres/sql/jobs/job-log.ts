import { CLOCK, fixedPath } from '../plan-settings.ts'

/**
 * How far jobs are, and the lines their handlers wrote. Apart from the jobs, whose rows are hot and move to the archive.
 * `until` is when they go, whatever became of their job: when a day of the archive is dropped, nobody looks for its notes.
 * Room is left on each page, and `until` changes by the hour, so that an update touches no index.
 */
export function noteTables(schema: string): string {
  return `
create table ${schema}.notes (
    id uuid not null,
    last bigint not null default 0,
    bytes bigint not null default 0,
    dropped bigint not null default 0,
    until bigint not null,
    progress_at bigint,
    value double precision,
    line_n integer not null default 0,
    progress_n integer not null default 0,
    space text collate "C" not null,
    token text collate "C" not null,
    note text,
    primary key (id, space)
) with (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
create index notes_until on ${schema}.notes (until);
create table ${schema}.note_lines (
    id uuid not null,
    place bigint not null,
    start bigint not null,
    at bigint not null,
    level smallint not null,
    space text collate "C" not null,
    text text not null,
    fields text,
    primary key (id, space, place)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
`
}

/**
 * note_jobs: writes notes, see `takeNote` in `core/notes.ts`. `items` is JSON: for each note [id, token, progress,
 * lines, space], where progress is [n, value, note, at] or null and a line is [n, at, level, text, fields]. Returns JSON: for each,
 * in order, ok, gone or lost.
 *
 * The row of a job's notes is locked before its token is looked at. So whoever had it before us is seen, and a holder
 * whose lease went to another meanwhile writes nothing after the first note of that other. Rows are locked in the order
 * of their ids, so that two who write about the same jobs do not wait for each other.
 */
export function noteFunction(schema: string): string {
  return `
create function ${schema}.note_jobs(items text, most_lines bigint, most_bytes bigint, keep_ms bigint, at bigint)
returns text
language plpgsql ${fixedPath(schema)}
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    ends bigint := ((t + keep_ms) / 3600000 + 1) * 3600000;
    item record;
    h notes%rowtype;
    is_new boolean;
    holder text;
    said text[] := '{}';
    fresh bigint;
    size bigint;
    newest integer;
begin
    for item in
        select (i ->> 0)::uuid as id, i ->> 1 as token, i -> 2 as progress, i -> 3 as lines, i ->> 4 as space,
            n::integer as n
        from json_array_elements(items::json) with ordinality as e(i, n) order by 1, n
    loop
        loop
            select x.* into h from notes x where x.id = item.id and x.space = item.space for update;
            is_new := not found;
            select j.token into holder from jobs j where j.id = item.id and j.space = item.space;
            if not found then
                select a.token into holder from archive a where a.id = item.id and a.space || '' = item.space;
                if not found then
                    said[item.n] := 'gone';
                    exit;
                end if;
            end if;
            if holder is distinct from item.token then
                said[item.n] := 'lost';
                exit;
            end if;
            if is_new then
                insert into notes (id, space, token, until) values (item.id, item.space, item.token, ends)
                on conflict do nothing returning * into h;
                -- Somebody else was quicker; its row is there now.
                continue when not found;
            end if;
            said[item.n] := 'ok';
            exit;
        end loop;
        continue when said[item.n] <> 'ok';

        if h.token <> item.token then
            h.line_n := 0;
            h.progress_n := 0;
        end if;
        select count(*), coalesce(sum(octet_length(l ->> 3) + coalesce(octet_length(l ->> 4), 0)), 0),
            coalesce(max((l ->> 0)::integer), h.line_n)
        into fresh, size, newest
        from json_array_elements(item.lines) as l where (l ->> 0)::integer > h.line_n;
        if fresh > 0 then
            insert into note_lines (id, space, place, start, at, level, text, fields)
            select item.id, item.space, h.last + row_number() over w,
                h.bytes + sum(f.size) over w - f.size, f.at, f.level, f.text, f.fields
            from (
                select (l ->> 0)::integer as n, (l ->> 1)::bigint as at, (l ->> 2)::smallint as level,
                    l ->> 3 as text, l ->> 4 as fields,
                    octet_length(l ->> 3) + coalesce(octet_length(l ->> 4), 0) as size
                from json_array_elements(item.lines) as l where (l ->> 0)::integer > h.line_n
            ) f
            window w as (order by f.n rows between unbounded preceding and current row);
            -- Numbers that are left out were dropped on their way.
            h.dropped := h.dropped + newest - h.line_n - fresh;
            h.line_n := newest;
            h.last := h.last + fresh;
            h.bytes := h.bytes + size;
            if h.last > most_lines or h.bytes > most_bytes then
                delete from note_lines x where x.id = item.id and x.space = item.space
                    and (x.place <= h.last - most_lines or x.start < h.bytes - most_bytes);
                get diagnostics fresh = row_count;
                h.dropped := h.dropped + fresh;
            end if;
        end if;
        if (item.progress ->> 0)::integer > h.progress_n then
            h.progress_n := item.progress ->> 0;
            h.value := item.progress ->> 1;
            h.note := item.progress ->> 2;
            h.progress_at := item.progress ->> 3;
        end if;
        update notes x set token = item.token, line_n = h.line_n, progress_n = h.progress_n, last = h.last,
            bytes = h.bytes, dropped = h.dropped, until = ends, value = h.value, note = h.note,
            progress_at = h.progress_at
        where x.id = item.id and x.space = item.space;
    end loop;
    return array_to_json(said)::text;
end $function$;
`
}

/**
 * remove_notes: removes the notes of jobs that are gone. Those that somebody is writing just now are passed over and go
 * by their own time: whoever ends or removes a job waits for nobody's notes.
 *
 * prune_notes: removes up to `most` notes that are too old, whatever became of their jobs.
 */
export function removeNotesFunctions(schema: string): string {
  return `
create function ${schema}.remove_notes(ids uuid[], in_space text) returns void
language plpgsql ${fixedPath(schema)}
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
as $function$
declare
    free uuid[] := array(
        select x.id from notes x where x.id = any(ids) and x.space = in_space for update skip locked);
begin
    if cardinality(free) > 0 then
        delete from notes x where x.id = any(free) and x.space = in_space;
        delete from note_lines x where x.id = any(free) and x.space = in_space;
    end if;
end $function$;

create function ${schema}.prune_notes(most bigint, t bigint) returns void
language sql ${fixedPath(schema)}
    set enable_seqscan = off
as $function$
    select remove_notes(array_agg(o.id), o.space)
    from (select x.id, x.space from notes x where x.until <= t order by x.until limit most) o group by o.space;
$function$;
`
}
