import type { NewRecord, PutRecordResult, RecordStore, StoredRecord } from '../../store/records.ts'
import { listOf, numberOf, numberOrNull, type Reply, textOf } from './connection/bytes.ts'
import type { Caller } from './connection/caller.ts'

/** Records, see `lua/documents.ts`. */
export function documentCalls(caller: Caller): RecordStore {
  return {
    async putRecords({ scope, kind, records, now }) {
      if (records.length === 0) return { results: [] }
      const results = await caller.call('putRecords', [scope, kind, ...records.flatMap(sentRecord)], now)
      return {
        results: listOf(results).map((isFit): PutRecordResult => (numberOf(isFit) === 1 ? 'ok' : 'refused')),
      }
    },

    async getRecords({ scope, kind, ids, now }) {
      if (ids.length === 0) return { records: [] }
      const found = listOf(await caller.call('getRecords', [scope, kind, ...ids], now))
      return { records: found.map((one) => (Array.isArray(one) ? recordOf(one) : null)) }
    },

    async listRecords({ scope, kind, from, before, backwards, limit, now }) {
      const bounds = [from === undefined ? '' : `[${from}`, before === undefined ? '' : `(${before}`]
      const args = [scope, kind, String(limit), backwards ? '1' : '', ...bounds]
      const [found, more] = listOf(await caller.call('listRecords', args, now))
      return { records: listOf(found).map(recordOf), more: numberOf(more) === 1 }
    },

    async removeRecords({ scope, kind, ids, now }) {
      if (ids.length === 0) return { removed: [] }
      const removed = await caller.call('removeRecords', [scope, kind, ...ids], now)
      return { removed: listOf(removed).map(textOf) }
    },
  }
}

function sentRecord({ id, body, revision, expiresAt, expect }: NewRecord): string[] {
  const expected = expect === undefined ? '' : expect === null ? '-' : `=${expect}`
  return [id, body, revision, expiresAt === null ? '' : String(expiresAt), expected]
}

function recordOf(reply: Reply): StoredRecord {
  const [id, body, revision, expiresAt, writtenAt] = listOf(reply)
  return {
    id: textOf(id),
    body: textOf(body),
    revision: textOf(revision),
    expiresAt: numberOrNull(expiresAt),
    writtenAt: numberOf(writtenAt),
  }
}
