import type { NewRecord, PutRecordResult, RecordStore, StoredRecord } from '../../store/records.ts'
import type { Param, Query, Row } from './connection/driver.ts'
import { arrayOf } from './connection/literals.ts'
import { CLOCK } from './sql/plan-settings.ts'

/** Comes after every id, which is printable ASCII. */
const AFTER_ALL = '\x7f'

/** Records, see `migrations/records.ts`. */
export function postgresRecords(query: Query, schema: string): RecordStore {
  return {
    async putRecords({ scope, kind, records, now }) {
      if (records.length === 0) return { results: [] }
      const rows = await query(
        `select unnest(${schema}.put_records($1::text, $2::text, $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
          $8::bigint))::text`,
        [
          scope,
          kind,
          arrayOf(records.map(({ id }) => id)),
          arrayOf(records.map(({ body }) => body)),
          arrayOf(records.map(({ revision }) => revision)),
          arrayOf(records.map(expected)),
          arrayOf(records.map(({ expiresAt }) => expiresAt)),
          moment(now),
        ],
      )
      return {
        results: rows.map(([isAccepted]): PutRecordResult => (isAccepted === 'true' ? 'ok' : 'refused')),
      }
    },

    async getRecords({ scope, kind, ids, now }) {
      if (ids.length === 0) return { records: [] }
      const rows = await query(
        `select r.id, r.body, r.revision, r.expires_at, r.written_at from ${schema}.records r
        where r.scope = $1::text and r.kind = $2::text and r.id = any($3::text[])
          and (r.expires_at is null or r.expires_at > coalesce($4::bigint, ${CLOCK}))`,
        [scope, kind, arrayOf(ids), moment(now)],
      )
      const found = new Map(rows.map((row) => [row[0], recordOf(row)]))
      return { records: ids.map((id) => found.get(id) ?? null) }
    },

    async listRecords({ scope, kind, from = '', before = AFTER_ALL, backwards = false, limit, now }) {
      const rows = await query(
        `select * from ${schema}.list_records($1::text, $2::text, $3::text, $4::text, $5::boolean, $6::bigint, $7::bigint)`,
        [scope, kind, from, before, String(backwards), String(limit + 1), moment(now)],
      )
      return { records: rows.slice(0, limit).map(recordOf), more: rows.length > limit }
    },

    async removeRecords({ scope, kind, ids, now }) {
      if (ids.length === 0) return { removed: [] }
      const rows = await query(
        `select ${schema}.remove_records($1::text, $2::text, $3::text[], $4::bigint)`,
        [scope, kind, arrayOf(ids), moment(now)],
      )
      const removed = new Set(rows.map(([id]) => id))
      return { removed: ids.filter((id) => removed.delete(id)) }
    },
  }
}

/** What must be stored, as `put_records` reads it. */
function expected({ expect }: NewRecord): string | null {
  if (expect === undefined) return null
  return expect === null ? '-' : `=${expect}`
}

function moment(now: number | undefined): Param {
  return now === undefined ? null : String(now)
}

function recordOf([id, body, revision, expiresAt, writtenAt]: Row): StoredRecord {
  return {
    id: id as string,
    body: body as string,
    revision: revision as string,
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    writtenAt: Number(writtenAt),
  }
}
