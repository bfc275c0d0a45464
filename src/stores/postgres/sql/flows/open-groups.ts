import { NEEDS_ALL, OPEN } from '../../../../core/flows/groups.ts'
import { untilFree } from '../locks.ts'
import { CLOCK, flowPins } from '../plan-settings.ts'
import { jobsFor, trueEvents } from './groups.ts'

/**
 * add_members: adds jobs to an open group, or seals it, or both. The group's row is the lock: whoever comes second sees what
 * the first did. Returns JSON: ok, sealed or unknown, how many members there are, and what was enqueued.
 *
 * With `again` the jobs may be there. Nobody is asked who still inserts them: he has the lock.
 */
export function addMembersFunction(schema: string): string {
  return `
create function ${schema}.add_members(in_space text, of_group uuid, fresh text, is_last boolean, again boolean, at bigint,
    inside boolean default false) returns text
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    jobs_given json := fresh::json;
    is_careful boolean := strpos(fresh, '"unique":{') > 0;
    busy text;
    g groups%rowtype;
    before integer;
    added integer;
    given record;
    ended outcomes[];
    fires smallint := 0;
    due json[];
    enqueued json[];
begin
    if not inside then ${untilFree('return add_members(in_space, of_group, fresh, is_last, again, at, true);')}
    end if;
    if is_careful then
        perform prepare_given(null, json_build_object('jobs', jobs_given), t);
    else
        perform lock_groups(array[of_group]);
    end if;
    select x.* into g from groups x where x.id = of_group and x.space = in_space and x.size is not null;
    if not found then
        perform forget_keys(t) where is_careful;
        return json_build_array('unknown', 0, null)::text;
    end if;
    if again and (exists (
            select 1 from jobs x where x.id = (jobs_given #>> '{0,id}')::uuid and x.space = in_space)
        or exists (select 1 from every_outcome o where o.group_id = of_group and o.id = (jobs_given #>> '{0,id}')::uuid)) then
        jobs_given := '[]';
    end if;
    before := case when g.size < 0 then ${OPEN} - g.size else g.size end;
    added := json_array_length(jobs_given);
    if g.size >= 0 and added > 0 then
        perform forget_keys(t) where is_careful;
        return json_build_array('sealed', before, null)::text;
    end if;
    if added > 0 then
        update groups x set size = x.size - added where x.id = of_group;
        select i.* into given from insert_given((
            select json_agg(j.job::jsonb || jsonb_build_object('member',
                jsonb_build_object('group', of_group, 'n', before + j.place - 1)) order by j.place)
            from json_array_elements(jobs_given) with ordinality as j(job, place)), null, null, t) i;
        ended := given.ended;
        enqueued := given.enqueued;
    end if;
    if is_last and g.size < 0 then
        g.size := before + added;
        g.need := case when g.need = ${NEEDS_ALL} then g.size else g.need end;
        fires := ${trueEvents('g', 'g.done', 'g.failed')} & ~g.fired;
        update groups x set size = g.size, need = g.need, fired = x.fired | fires,
            ended_at = case when x.done + x.failed = g.size then t end,
            expires_at = case when x.done + x.failed = g.size and x.run is null then t + x.keep_ms end
        where x.id = of_group;
        select array_agg(f.job order by f.event) into due
        from (select g.jobs) j ${jobsFor('j', 'fires')};
    end if;
    enqueued := enqueued || count_and_fire(ended, due, is_careful, t);
    if is_careful then
        perform forget_keys(t);
    end if;
    return json_build_array('ok', before + added, array_to_json(enqueued))::text;
end $function$;
`
}
