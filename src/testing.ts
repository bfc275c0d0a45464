/** `skep/testing`: the suites that check an adapter, and a runtime whose time a test owns. */
export { type DescribeNoticesOptions, describeNotices } from './testing/notices-suite.ts'
export {
  type DescribeNotifierOptions,
  describeNotifier,
  type OpenNotifier,
} from './testing/notifier-suite.ts'
export {
  type Command,
  generateCommands,
  type OracleOptions,
  replayCommands,
  runOracle,
} from './testing/oracle.ts'
export { type Random, seededRandom } from './testing/random.ts'
export type { Runner } from './testing/runner.ts'
export type { UserTransaction } from './testing/store/transactions.ts'
export { type DescribeStoreOptions, describeStore, type OpenStore } from './testing/store-suite.ts'
export { type VirtualRuntime, type VirtualRuntimeOptions, virtualRuntime } from './testing/virtual-runtime.ts'
