import type { Store } from '../store/store.ts'
import { auditStore } from './invariants.ts'
import type { Runner } from './runner.ts'
import { ancestorsCases } from './store/ancestors.ts'
import { claimCases } from './store/claim/claim.ts'
import { claimNamedCases } from './store/claim/claim-by-id.ts'
import { claimOrderCases } from './store/claim/claim-order.ts'
import { expiredCases } from './store/claim/expired.ts'
import { extendCases } from './store/claim/extend.ts'
import { settleCases } from './store/claim/settle.ts'
import { settleAndTakeCases } from './store/claim/settle-and-claim.ts'
import { settleEnqueueCases } from './store/claim/settle-enqueue.ts'
import { settleFencingCases } from './store/claim/settle-fencing.ts'
import { concurrencyCases } from './store/concurrency.ts'
import { crowdCases } from './store/crowd.ts'
import { chainCases } from './store/flows/chains.ts'
import { groupEnqueueCases } from './store/flows/group-enqueues.ts'
import { groupCases } from './store/flows/groups.ts'
import { openGroupCases } from './store/flows/open-groups.ts'
import { flowRetentionCases } from './store/flows/retention.ts'
import { runCountCases } from './store/flows/run-counts.ts'
import { runCases } from './store/flows/runs.ts'
import { handlesCases } from './store/handles.ts'
import { notesCases } from './store/job-log.ts'
import { notesLifeCases } from './store/job-log-retention.ts'
import { changeCases } from './store/jobs/change.ts'
import { changeSelectionCases } from './store/jobs/change-selection.ts'
import { contentCases } from './store/jobs/content.ts'
import { countCases } from './store/jobs/count.ts'
import { countsCases } from './store/jobs/counts.ts'
import { insertCases } from './store/jobs/insert.ts'
import { listCases } from './store/jobs/list.ts'
import { prioritizeCases, priorityCases } from './store/jobs/priority.ts'
import { pruneCases } from './store/jobs/prune.ts'
import { rescheduleCases } from './store/jobs/reschedule.ts'
import { takenCases } from './store/jobs/taken-ids.ts'
import { uniqueCases } from './store/jobs/unique.ts'
import { uniqueConflictCases } from './store/jobs/unique-conflict.ts'
import { holdsCases } from './store/lanes/holds.ts'
import { keyRangeCases } from './store/lanes/key-ranges.ts'
import { laneCases } from './store/lanes/lanes.ts'
import { limitCases } from './store/lanes/limits.ts'
import { strictCases } from './store/lanes/strict.ts'
import { lifecycleCases } from './store/lifecycle.ts'
import { recordCases } from './store/records.ts'
import { OTHER_QUEUE, OTHER_SPACE, QUEUE, SPACE } from './store/samples.ts'
import { Scene, type StoreCase } from './store/scene.ts'
import { scheduleHandlesCases } from './store/schedules/handles.ts'
import { fireCases, schedulesCases } from './store/schedules/schedules.ts'
import { spaceCases } from './store/spaces.ts'
import { transactionCases, type UserTransaction } from './store/transactions.ts'
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
    describe('flows', () => runCountCases(test))
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
