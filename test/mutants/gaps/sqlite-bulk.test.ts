import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Verdict } from '../../../src/core/policies/policy.ts'
import { sqliteStore } from '../../../src/sqlite.ts'
import type { ClaimCall, Store } from '../../../src/store/store.ts'
import { newJobs } from '../../support/new-job.ts'

const START = 1_800_000_000_000
const LEASE_MS = 30_000

const DONE: Verdict = {
  to: 'done',
  keepMs: 3_600_000,
  delayMs: 0,
  count: null,
  refund: false,
  keepPlace: false,
  keepCancelledMs: 0,
  result: null,
  failure: null,
}
const AGAIN: Verdict = { ...DONE, to: 'ready', keepMs: null, count: 'lost' }

function claimOf(token: string, now: number): ClaimCall {
  const sources = [{ space: 'acme', queue: 'mail', limit: 10 }]
  return { sources, limit: 10, workerId: token, token, leaseMs: LEASE_MS, now }
}

it('a process that lost many jobs to another one cannot end them together either', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skep-bulk-'))
  const file = join(folder, 'jobs.db')
  // Two handles, as two processes have: each knows only what it claimed itself.
  const [sleeper, other] = [sqliteStore({ file }), sqliteStore({ file })] as [Store, Store]
  onTestFinished(async () => {
    await Promise.all([sleeper.close(), other.close()])
    rmSync(folder, { recursive: true, force: true })
  })
  const jobs = newJobs(5)
  const ids = jobs.map(({ id }) => id)
  await sleeper.insert({ jobs, now: START })
  await sleeper.claim(claimOf('first', START))

  const later = START + LEASE_MS + 1
  const rescue = { token: 'first', verdict: AGAIN, onlyIfExpired: true, rescue: true }
  await other.settle({ settlements: ids.map((id) => ({ space: 'acme', id, ...rescue })), now: later })
  await other.claim(claimOf('second', later))
  const settlements = ids.map((id) => ({ space: 'acme', id, token: 'first', verdict: DONE }))
  const { results } = await sleeper.settle({ settlements, now: later })

  expect(results).toEqual(ids.map(() => ({ status: 'refused', reason: 'lost' })))
  const { jobs: found } = await other.get({ space: 'acme', ids })
  expect(found.map((job) => [job?.state, job?.token])).toEqual(ids.map(() => ['running', 'second']))
})
