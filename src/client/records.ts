import type { RecordStore } from '../store/records.ts'

/** The records of a store that is asked for its schema first, as every call does. */
export function readyRecords(store: RecordStore, ready: () => Promise<unknown>): RecordStore {
  return {
    async putRecords(call) {
      await ready()
      return store.putRecords(call)
    },
    async getRecords(call) {
      await ready()
      return store.getRecords(call)
    },
    async listRecords(call) {
      await ready()
      return store.listRecords(call)
    },
    async removeRecords(call) {
      await ready()
      return store.removeRecords(call)
    },
  }
}
