import type { Store } from '../store.ts'
import { auditStore } from './invariants.ts'
import type { Runner } from './runner.ts'
import { claimCases } from './store/claim.ts'
import { claimOrderCases } from './store/claim-order.ts'
import { insertCases } from './store/insert.ts'
import { OTHER_QUEUE, OTHER_SPACE, QUEUE, SPACE } from './store/samples.ts'
import { Scene, type StoreCase } from './store/scene.ts'
import { settleCases } from './store/settle.ts'
import { settleEnqueueCases } from './store/settle-enqueue.ts'
import { settleFencingCases } from './store/settle-fencing.ts'
import { uniqueCases } from './store/unique.ts'
import { uniqueConflictCases } from './store/unique-conflict.ts'

export interface DescribeStoreOptions {
  /**
   * Opens a second handle on the jobs of `store`, as another process would. Give it for a store with the
   * capability `processes`; the cases that need it are left out otherwise.
   */
  readonly reopen?: (store: Store) => Promise<Store>
}

/** Gives a fresh, empty store that is ready for use. The suite closes it. */
export type OpenStore = () => Promise<Store> | Store

/**
 * The promises of `Store`, as a suite. An adapter is right when it passes.
 *
 * ```ts
 * import { describe, it } from 'vitest' // or jest, or node:test
 * describeStore('sqlite', async () => sqliteStore({ file: ':memory:' }), { describe, it })
 * ```
 */
export function describeStore(
  name: string,
  open: OpenStore,
  { describe, it }: Runner,
  _options: DescribeStoreOptions = {},
): void {
  const queues = [QUEUE, OTHER_QUEUE]
  const test: StoreCase = (sentence, body) =>
    it(sentence, async () => {
      const store = await open()
      try {
        const scene = new Scene(store)
        await body(scene)
        // Whatever a case was about, it must leave a store in which everything agrees.
        await auditStore(store, { [SPACE]: queues, [OTHER_SPACE]: queues }, scene.now)
      } finally {
        await store.close()
      }
    })

  describe(`${name} store`, () => {
    describe('insert', () => insertCases(test))
    describe('unique keys', () => uniqueCases(test))
    describe('conflicts of unique keys', () => uniqueConflictCases(test))
    describe('claim', () => claimCases(test))
    describe('the order of claims', () => claimOrderCases(test))
    describe('settle', () => settleCases(test))
    describe('the fencing of settle', () => settleFencingCases(test))
    describe('settle with enqueued jobs and the next claim', () => settleEnqueueCases(test))
  })
}
