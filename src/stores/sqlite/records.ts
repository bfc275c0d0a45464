import type {
  GetRecordsCall,
  ListRecordsCall,
  ListRecordsReply,
  NewRecord,
  PutRecordResult,
  PutRecordsCall,
  RecordPlace,
  RecordStore,
  RemoveRecordsCall,
  StoredRecord,
} from '../../store/records.ts'
import type { Row } from './connection/client.ts'
import type { Database } from './connection/database.ts'
import type { Turn } from './connection/write-batch.ts'

const COLUMNS = 'id, body, revision, expires_at, written_at'
const AT = 'scope = ? and kind = ?'
const LIVES = '(expires_at is null or expires_at > ?)'

const REVISION = `select revision from skep_records where ${AT} and id = ? and ${LIVES}`
const PUT = `insert into skep_records (scope, kind, ${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (scope, kind, id) do update set body = excluded.body, revision = excluded.revision,
    expires_at = excluded.expires_at, written_at = excluded.written_at`
const GET = `select ${COLUMNS} from skep_records where ${AT} and id = ? and ${LIVES}`
const REMOVE = `delete from skep_records where ${AT} and id = ? returning ${LIVES}`
const PRUNE = `delete from skep_records where rowid in (
  select rowid from skep_records where expires_at <= ? order by expires_at limit ?)`

/** Records, see `store/records.ts`. */
export function sqliteRecords(
  database: Database,
  at: (turn: Turn, call: { readonly now?: number }) => number,
): RecordStore {
  return {
    putRecords(call) {
      return database.write(call.records.length, (turn) => ({ results: put(turn, call, at(turn, call)) }))
    },

    async getRecords(call) {
      return database.read((turn) => ({ records: get(turn, call, at(turn, call)) }))
    },

    async listRecords(call) {
      return database.read((turn) => list(turn, call, at(turn, call)))
    },

    removeRecords(call) {
      return database.write(call.ids.length, (turn) => ({ removed: remove(turn, call, at(turn, call)) }))
    },
  }
}

function put({ db }: Turn, { scope, kind, records }: PutRecordsCall, now: number): PutRecordResult[] {
  const results = records.map((record) => judge(db, { scope, kind }, record, now))
  if (results.includes('refused')) return results
  for (const { id, body, revision, expiresAt } of records)
    db.run(PUT, scope, kind, id, body, revision, expiresAt, now)
  return results
}

function judge(
  db: Turn['db'],
  { scope, kind }: RecordPlace,
  { id, revision, expect }: NewRecord,
  now: number,
): PutRecordResult {
  if (expect === undefined) return 'ok'
  const [stored = null] = db.get(REVISION, scope, kind, id, now) ?? []
  return stored === revision || stored === expect ? 'ok' : 'refused'
}

function get(
  { db }: Pick<Turn, 'db'>,
  { scope, kind, ids }: GetRecordsCall,
  now: number,
): (StoredRecord | null)[] {
  return ids.map((id) => {
    const row = db.get(GET, scope, kind, id, now)
    return row ? recordOf(row) : null
  })
}

function list({ db }: Pick<Turn, 'db'>, call: ListRecordsCall, now: number): ListRecordsReply {
  const { scope, kind, from, before, backwards = false, limit } = call
  const bounds = [
    ...(from === undefined ? [] : [{ sql: 'and id >= ?', value: from }]),
    ...(before === undefined ? [] : [{ sql: 'and id < ?', value: before }]),
  ]
  const rows = db.all(
    `select ${COLUMNS} from skep_records where ${AT} and ${LIVES} ${bounds.map(({ sql }) => sql).join(' ')}
     order by id ${backwards ? 'desc' : 'asc'} limit ?`,
    scope,
    kind,
    now,
    ...bounds.map(({ value }) => value),
    limit + 1,
  )
  return { records: rows.slice(0, limit).map(recordOf), more: rows.length > limit }
}

function remove({ db }: Turn, { scope, kind, ids }: RemoveRecordsCall, now: number): string[] {
  return ids.filter((id) => db.get(REMOVE, scope, kind, id, now)?.[0] === 1)
}

/** Removes up to `limit` records whose time is over, the oldest first. */
export function pruneRecords({ db }: Pick<Turn, 'db'>, limit: number, now: number): void {
  db.run(PRUNE, now, limit)
}

function recordOf([id, body, revision, expiresAt, writtenAt]: Row): StoredRecord {
  return {
    id: id as string,
    body: body as string,
    revision: revision as string,
    expiresAt: expiresAt as number | null,
    writtenAt: writtenAt as number,
  }
}
