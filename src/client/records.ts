import type { RecordStore } from '../store/records.ts'

/**
 * The records of a store that is asked for its schema first, as every call does. `patient` is the same store with the patience of an
 * enqueue, for what writes.
 */
export function readyRecords(
  store: RecordStore,
  {
    patient,
    ready,
    readyToWrite,
  }: {
    readonly patient: RecordStore
    readonly ready: () => Promise<unknown>
    readonly readyToWrite: () => Promise<unknown>
  },
): RecordStore {
  return {
    async putRecords(call) {
      await readyToWrite()
      return patient.putRecords(call)
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
      await readyToWrite()
      return patient.removeRecords(call)
    },
  }
}
