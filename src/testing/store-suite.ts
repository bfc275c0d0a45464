import type { Store } from '../store.ts'
import { auditStore } from './invariants.ts'
import type { Runner } from './runner.ts'
import { ancestorsCases } from './store/ancestors.ts'
import { chainCases } from './store/chains.ts'
import { changeCases } from './store/change.ts'
import { changeSelectionCases } from './store/change-selection.ts'
import { claimCases } from './store/claim.ts'
import { claimNamedCases } from './store/claim-named.ts'
import { claimOrderCases } from './store/claim-order.ts'
import { concurrencyCases } from './store/concurrency.ts'
import { contentCases } from './store/content.ts'
import { countCases } from './store/count.ts'
import { countsCases } from './store/counts.ts'
import { crowdCases } from './store/crowd.ts'
import { expiredCases } from './store/expired.ts'
import { extendCases } from './store/extend.ts'
import { flowRetentionCases } from './store/flow-retention.ts'
import { groupEnqueueCases } from './store/group-enqueues.ts'
import { groupCases } from './store/groups.ts'
import { handlesCases } from './store/handles.ts'
import { holdsCases } from './store/holds.ts'
import { insertCases } from './store/insert.ts'
import { keyRangeCases } from './store/key-ranges.ts'
import { laneCases } from './store/lanes.ts'
import { lifecycleCases } from './store/lifecycle.ts'
import { limitCases } from './store/limits.ts'
import { listCases } from './store/list.ts'
import { notesCases } from './store/notes.ts'
import { notesLifeCases } from './store/notes-life.ts'
import { openGroupCases } from './store/open-groups.ts'
import { outlineCases } from './store/outlines.ts'
import { prioritizeCases, priorityCases } from './store/priority.ts'
import { pruneCases } from './store/prune.ts'
import { recordCases } from './store/records.ts'
import { rescheduleCases } from './store/reschedule.ts'
import { runCases } from './store/runs.ts'
import { OTHER_QUEUE, OTHER_SPACE, QUEUE, SPACE } from './store/samples.ts'
import { Scene, type StoreCase } from './store/scene.ts'
import { fireCases, schedulesCases } from './store/schedules.ts'
import { scheduleHandlesCases } from './store/schedules-handles.ts'
import { settleCases } from './store/settle.ts'
import { settleAndTakeCases } from './store/settle-and-take.ts'
import { settleEnqueueCases } from './store/settle-enqueue.ts'
import { settleFencingCases } from './store/settle-fencing.ts'
import { spaceCases } from './store/spaces.ts'
import { strictCases } from './store/strict.ts'
import { takenCases } from './store/taken.ts'
import { transactionCases, type UserTransaction } from './store/transactions.ts'
import { uniqueCases } from './store/unique.ts'
import { uniqueConflictCases } from './store/unique-conflict.ts'
import { weighCases } from './store/weigh.ts'
import { workersCases } from './store/workers.ts'

export interface DescribeStoreOptions {
  /**
   * Opens a second handle on the jobs of `store`, as another process would. Give it for a store with the
   * capability `processes`; the cases that need it are left out otherwise.
   */
  readonly reopen?: (store: Store) => Promise<Store>
  /**
   * Begins a transaction on the data of `store`, as its user would. Give it for a store with the capability
   * `transactions`; the cases that need it are left out otherwise.
   */
  readonly begin?: (store: Store) => Promise<UserTransaction>
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
  { reopen, begin }: DescribeStoreOptions = {},
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
    describe('life of the store', () => {
      lifecycleCases(test)
      it('can be closed twice, and at once', async () => {
        const store = await open()
        await Promise.all([store.close(), store.close()])
        await store.close()
      })
    })
    describe('insert', () => insertCases(test))
    describe('taken ids', () => takenCases(test))
    describe('spaces', () => spaceCases(test))
    describe('content', () => contentCases(test))
    describe('unique keys', () => uniqueCases(test))
    describe('conflicts of unique keys', () => uniqueConflictCases(test))
    describe('claim', () => claimCases(test))
    describe('claim by id', () => claimNamedCases(test))
    describe('the order of claims', () => claimOrderCases(test))
    describe('strict priorities', () => priorityCases(test))
    describe('extend', () => extendCases(test))
    describe('settle', () => settleCases(test))
    describe('the fencing of settle', () => settleFencingCases(test))
    describe('settle with enqueued jobs and the next claim', () => settleEnqueueCases(test))
    describe('settle and the claim of what it enqueues', () => settleAndTakeCases(test))
    describe('change by id', () => changeCases(test))
    describe('change by selection', () => changeSelectionCases(test))
    describe('prioritize', () => prioritizeCases(test))
    describe('reschedule', () => rescheduleCases(test))
    describe('expired', () => expiredCases(test))
    describe('list and get', () => listCases(test))
    describe('count', () => countCases(test))
    describe('counts', () => countsCases(test))
    describe('weigh', () => weighCases(test))
    describe('prune', () => pruneCases(test))
    describe('workers', () => workersCases(test))
    describe('lanes', () => laneCases(test))
    describe('ranges of keys', () => keyRangeCases(test))
    describe('limits', () => limitCases(test))
    describe('strict lanes', () => strictCases(test))
    describe('groups', () => groupCases(test))
    describe('open groups', () => openGroupCases(test))
    describe('groups and chains', () => chainCases(test))
    describe('what groups enqueue', () => groupEnqueueCases(test))
    describe('runs', () => runCases(test))
    describe('flows', () => outlineCases(test))
    describe('what is kept of groups and runs', () => flowRetentionCases(test))
    describe('holds', () => holdsCases(test))
    describe('notes', () => notesCases(test))
    describe('the life of notes', () => notesLifeCases(test))
    describe('records', () => recordCases(test))
    describe('schedules', () => schedulesCases(test))
    describe('the fire of schedules', () => fireCases(test))
    describe('many at once', () => {
      concurrencyCases(test)
      crowdCases(test)
    })
    describe('cases of the ancestors', () => ancestorsCases(test))
    if (begin) describe('a transaction of the user', () => transactionCases(test, begin))
    if (reopen) {
      describe('two handles', () => handlesCases(test, reopen))
      describe('two handles on schedules', () => scheduleHandlesCases(test, reopen))
    }
  })
}
