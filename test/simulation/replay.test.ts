/**
 * Replays one trial as vitest runs it, prints its trace and says what is wrong with it:
 *
 *   STORE=sqlite KIND=flows NOTICES=1 SEED=42 npx vitest run test/simulation/replay.test.ts
 *
 * KIND is jobs unless said otherwise. Without SEED it is one more trial, without a trace.
 */
import { expect, it } from 'vitest'
import { describeReport } from '../proof/checker/index.ts'
import { FEATURES, type TrialKind } from './features/index.ts'
import { prepareStore, STORE_NAMES, type StoreName } from './stores.ts'
import { Trial } from './trial.ts'

const { STORE = 'memory', KIND = 'jobs', NOTICES = '', SEED } = process.env
const store = STORE as StoreName
const kind = KIND as TrialKind
const seed = Number(SEED ?? 20_000)

it(`keeps every promise in trial ${seed} of ${KIND} on ${STORE}`, async () => {
  expect(STORE_NAMES).toContain(STORE)
  expect(Object.keys(FEATURES)).toContain(KIND)
  await prepareStore(store)
  const { history, swarm, report, hash } = await new Trial(seed, store, kind, {
    notices: NOTICES !== '',
  }).run()
  const runs = history.flows?.runs ?? []
  if (SEED !== undefined) {
    const lines = [...history.records, ...history.audit, ...runs, { ...swarm, without: [...swarm.without] }]
    process.stdout.write(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  }
  console.info(`hash ${hash()}`)
  expect(report.violations, describeReport(report)).toEqual([])
}, 300_000)
