/** `skep/memory`: jobs in this process only. For tests, and for work that need not survive. */
export { type MemoryStoreOptions, memoryStore } from './stores/memory/store.ts'
