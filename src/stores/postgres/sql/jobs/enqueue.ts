import { CLOCK, fixedPath } from '../plan-settings.ts'

/**
 * enqueue: adds a job from any language, inside the transaction that is open. Workers find it by polling.
 *
 * PostgreSQL sends notifications one commit at a time in the whole server, and holds that lock while the commit waits for
 * the disk: with 16 clients a NOTIFY in every transaction halves what they can do. So it is not sent unless `notify` asks
 * for it. `wake` sends it apart: called by itself, after the commit, it writes nothing and so waits for no disk.
 *
 *   select skep.enqueue('report.build', '{"month": "2026-11"}');
 *   select skep.enqueue('mail', '{"to": "a@b.c"}', delay => interval '5 minutes', priority => 10);
 *   select skep.enqueue('page', '{}', priority => 2, strict => true);   -- for a queue with priorityMode 'strict'
 *   select skep.enqueue('sync', '{}', unique_key => 'customer-7');   -- returns the waiting job, if there is one
 *   select skep.enqueue('sync', '{}', lane => 'customer-7', cost => 5);
 *   select skep.enqueue('urgent', '{}', notify => true);   -- workers wake when the transaction commits
 *   select skep.wake('mail');                -- after the commit, for any number of jobs
 *
 * It returns the job's id and refuses what the TypeScript client refuses. A unique key is held until the job
 * ends; an enqueue with a key that is held changes nothing.
 */
export function enqueueFunction(schema: string): string {
  return `
create function ${schema}.enqueue(
    queue text, payload jsonb default 'null', delay interval default '0', run_at timestamptz default null,
    priority integer default 0, unique_key text default null, space text default 'default',
    headers jsonb default null, strict boolean default false, lane text default null, cost integer default 1, notify boolean default false)
returns uuid
language plpgsql ${fixedPath(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint := ${CLOCK};
    delay_ms bigint := greatest(0, floor(extract(epoch from delay) * 1000));
    run_ms bigint := floor(extract(epoch from run_at) * 1000);
    due bigint := greatest(t + delay_ms, coalesce(run_ms, 0));
    steps integer;
    -- Its place in a strict lane is its arrival.
    is_strict boolean := (select true from limits l
        where l.space = space and l.kind = 0 and l.name = queue and l.lane = '' and l.is_strict);
    fresh uuid;
    said text;
begin
    if queue is null or queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$' then
        raise exception 'skep: queue "%" is not a valid name. Use 1 to 128 letters, digits or "_ - . : /", starting with a letter or digit.', queue
            using errcode = 'invalid_parameter_value';
    elsif space is null or space !~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$' then
        raise exception 'skep: space "%" is not a valid name. Use 1 to 128 letters, digits or "_ - . : /", starting with a letter or digit.', space
            using errcode = 'invalid_parameter_value';
    elsif payload is null then
        raise exception 'skep: the payload is null. Use ''null''::jsonb for a job without one.'
            using errcode = 'null_value_not_allowed';
    elsif octet_length(payload::text) > 262144 then
        raise exception 'skep: the payload is % bytes; the limit is 262144. Store the data elsewhere and enqueue a reference.', octet_length(payload::text)
            using errcode = 'program_limit_exceeded';
    elsif priority is null or priority not between -100 and 100 then
        raise exception 'skep: priority is %; use -100 to 100.', priority using errcode = 'invalid_parameter_value';
    elsif unique_key = '' or octet_length(unique_key) > 512 or unique_key ~ '[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029]' then
        raise exception 'skep: the unique key is not valid. Use 1 to 512 bytes of text without control characters.'
            using errcode = 'invalid_parameter_value';
    elsif delay is null or due - t > 3153600000000 then
        raise exception 'skep: the job may be delayed by at most 100 years.' using errcode = 'invalid_parameter_value';
    elsif lane = '' or octet_length(lane) > 512 or lane ~ '[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029]' then
        raise exception 'skep: the lane is not valid. Use 1 to 512 bytes of text without control characters.'
            using errcode = 'invalid_parameter_value';
    elsif cost is null or cost not between 1 and 1000000 then
        raise exception 'skep: cost is %; use 1 to 1000000.', cost using errcode = 'invalid_parameter_value';
    elsif headers is not null and jsonb_typeof(headers) <> 'object' then
        raise exception 'skep: headers must be an object of texts.' using errcode = 'invalid_parameter_value';
    elsif strict is null then
        raise exception 'skep: strict is null; use true or false.' using errcode = 'null_value_not_allowed';
    end if;
    steps := priority * case when strict then 1000000 else 1 end;
    if headers = '{}' then
        headers := null;
    elsif headers is not null and (octet_length(headers::text) > 8192
        or (select count(*) > 64 or bool_or(jsonb_typeof(h.value) <> 'string'
                or h.key !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'
                or h.value #>> '{}' ~ '[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029]')
            from jsonb_each(headers) as h)) then
        raise exception 'skep: headers must be at most 64 texts without control characters, 8192 bytes as JSON, with names of letters, digits or "_ - .".'
            using errcode = 'invalid_parameter_value';
    end if;

    -- A UUIDv7: 48 bits of time, then chance.
    fresh := encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        placing substring(int8send(t) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid;
    said := insert_jobs(array[fresh], array[payload::text], array[space], array[queue],
        array[steps], array[delay_ms], array[run_ms], array[headers::text], '{}',
        case when unique_key is null then '{}' else array[unique_key] end, array[1]::smallint[], array[0]::bigint[],
        array[0]::smallint[], case when lane is null then '{}' else array[lane] end,
        case when cost = 1 then '{}' else array[cost] end, case when is_strict then array[true] else '{}' end,
        '{}', '{}', fresh, false, false, false, t);
    if strpos(said, ' ') > 0 then
        return (substr(said, strpos(said, ' ') + 1)::json -> 0 ->> 2)::uuid;
    end if;
    if notify then
        perform tell_of_work(space, queue, due, due - steps * 600000::bigint);
    end if;
    return fresh;
end $function$;

create function ${schema}.tell_of_work(space text, queue text, due bigint, rank bigint) returns void
language sql ${fixedPath(schema)}
as $function$
    select pg_notify('skep_${schema}', json_build_array('', json_build_array('work', space, queue, due, rank))::text);
$function$;

create function ${schema}.wake(queue text, space text default 'default') returns void
language sql ${fixedPath(schema)}
as $function$
    select tell_of_work(space, queue, ${CLOCK}, ${CLOCK});
$function$;
`
}
