import { JOB_BYTES } from '../../../../core/jobs/size.ts'
import { pins } from '../plan-settings.ts'
import { inQueue } from '../queue-hash.ts'

const bytesOf = (column: string): string => `coalesce(octet_length(x.${column}), 0)`

/**
 * What a job weighs, see `core/weight.ts`. The length of a text is known without reading it, wherever it is kept. Of the notes the first
 * line that is kept tells how many bytes came before it.
 */
const WEIGHT = `${JOB_BYTES} + octet_length(x.payload) + ${['headers', 'overrides', 'lane', 'unique_key', 'cancel_reason', 'result', 'failure'].map(bytesOf).join(' + ')}
            + coalesce((select h.bytes + coalesce(octet_length(h.note), 0)
                - coalesce((select l.start from note_lines l where l.id = h.id and l.space = h.space order by l.place limit 1), h.bytes)
                from notes h where h.id = x.id and h.space = x.space), 0)`

/**
 * weigh_jobs: how much one page of `list_jobs` weighs, and where its last job stands. As there, delayed jobs that are due in the same
 * moment are sorted anew for each page: an index that has them in order would be paid for by every delayed job.
 */
export function weighFunction(schema: string): string {
  const page = (lane: string, key: string, from: string, order: string, most = 'most'): string => `
        for one in select ${lane} as lane, x.${key} as key, x.id, ${WEIGHT} as weight
            from ${from} order by ${order} limit ${most}
        loop
            jobs := jobs + 1;
            bytes := bytes + one.weight;
            last_lane := one.lane;
            last_key := one.key;
            last_id := one.id;
        end loop;`
  const hot = (state: number): string =>
    `jobs x where ${inQueue('x', 'in_space', 'in_queue')} and x.state = ${state}`
  const line = (state: number, key: string): string =>
    page(`''`, key, `${hot(state)} and (x.${key}, x.id) > (key, beyond)`, `x.${key}, x.id`)
  return `
create function ${schema}.weigh_jobs(in_space text, in_queue text, in_state smallint, most integer, key bigint,
    beyond uuid, from_lane text)
returns table (jobs integer, bytes bigint, last_key bigint, last_id uuid, last_lane text)
language plpgsql stable ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    one record;
begin
    jobs := 0;
    bytes := 0;
    if in_state = 0 then ${line(0, 'due_at')}
    elsif in_state = 1 then
        if from_lane = '' then ${page(`''`, 'rank', `${hot(1)} and x.lane is null and (x.rank, x.id) > (key, beyond)`, 'x.rank, x.id')}
        end if;
        if jobs < most then ${page('x.lane', 'rank', `${hot(1)} and x.lane is not null and (x.lane, x.rank, x.id) > (from_lane, key, beyond)`, 'x.lane, x.rank, x.id', 'most - jobs')}
        end if;
    elsif in_state = 2 then ${line(2, 'started_at')}
    else ${page(
      `''`,
      'finished_at',
      `archive x where x.space = in_space and x.queue = in_queue and x.state = in_state
                and (x.finished_at, x.id) < (key, beyond)`,
      'x.finished_at desc, x.id desc',
    )}
    end if;
    return next;
end $function$;
`
}
