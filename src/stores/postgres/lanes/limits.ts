import type {
  LanesCall,
  LanesReply,
  LimitFields,
  LimitRecord,
  LimitTarget,
  SetLimitsCall,
} from '../../../store/limits.ts'
import type { Query } from '../connection/driver.ts'
import { arrayOf } from '../connection/literals.ts'

const QUEUE = 0
const LANE = 1
const SHARED = 2

/** Sends limits, see `migrations/limit-functions.ts`. */
export async function setLimits(
  query: Query,
  schema: string,
  { space, limits }: SetLimitsCall,
): Promise<{ limits: LimitRecord[] }> {
  if (limits.length === 0) return { limits: [] }
  const calls = limits.map(({ target, by, fields }) => ({
    ...keyOf(target),
    is_change: by === 'hand',
    fields,
  }))
  const rows = await query(`select ${schema}.set_limits($1::text, $2::text::json)`, [
    space,
    JSON.stringify(calls),
  ])
  const said = JSON.parse(rows[0]?.[0] as string) as [LimitFields | null, LimitFields | null][]
  return {
    limits: limits.map(({ target }, n) => {
      const [declared = null, changed = null] = said[n] ?? []
      return { target, declared, changed }
    }),
  }
}

export async function listLimits(
  query: Query,
  schema: string,
  { space, queue }: { readonly space: string; readonly queue?: string },
): Promise<{ limits: LimitRecord[] }> {
  const rows = await query(
    `select kind, name, lane, declared::text, changed::text from ${schema}.limits
     where space = $1::text and ($2::text is null or (kind < ${SHARED} and name = $2::text))`,
    [space, queue ?? null],
  )
  const limits = rows.map(([kind, name, lane, declared, changed]): LimitRecord => {
    const target = targetOf(Number(kind), name as string, lane as string)
    return { target, declared: fieldsOf(declared), changed: fieldsOf(changed) }
  })
  return { limits: limits.sort((a, b) => (orderOf(a.target) < orderOf(b.target) ? -1 : 1)) }
}

export async function listLanes(query: Query, schema: string, call: LanesCall): Promise<LanesReply> {
  const { space, queue, lanes, limit, after, now } = call
  const rows = await query(
    `select ${schema}.lanes_of_line($1::text, $2::text, $3::text[], $4::text, $5::bigint, $6::bigint),
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    [
      space,
      queue,
      lanes ? arrayOf(lanes) : null,
      after ?? null,
      String(limit),
      now === undefined ? null : String(now),
    ],
  )
  const text = rows[0]?.[0] as string | null
  if (text === null) return { lanes: [], queue: null, shared: null, now: now ?? Number(rows[0]?.[1]) }
  const told = JSON.parse(text) as Told
  const meter = ([running, startsAt]: Meter): { running: number; startsAt: number } => ({ running, startsAt })
  return {
    lanes: (told.lanes ?? []).map(([lane, running, startsAt, occupant]) => ({
      lane,
      running,
      startsAt,
      occupant,
    })),
    queue: meter(told.queue),
    shared: told.shared && meter(told.shared),
    now: told.now,
  }
}

type Meter = [running: number, startsAt: number]

interface Told {
  readonly lanes: [lane: string, running: number, startsAt: number, occupant: string | null][] | null
  readonly queue: Meter
  readonly shared: Meter | null
  readonly now: number
}

function keyOf(target: LimitTarget): { kind: number; name: string; lane: string } {
  if ('shared' in target) return { kind: SHARED, name: target.shared, lane: '' }
  return { kind: target.lane === undefined ? QUEUE : LANE, name: target.queue, lane: target.lane ?? '' }
}

function targetOf(kind: number, name: string, lane: string): LimitTarget {
  if (kind === SHARED) return { shared: name }
  return kind === LANE ? { queue: name, lane } : { queue: name }
}

/** Queues with their lanes, then what they share. */
function orderOf(target: LimitTarget): string {
  return JSON.stringify('shared' in target ? [1, target.shared] : [0, target.queue, target.lane ?? null])
}

function fieldsOf(text: unknown): LimitFields | null {
  return text === null ? null : (JSON.parse(text as string) as LimitFields)
}
