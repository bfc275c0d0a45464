// What people see who may not see payloads.

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { queue } from '../../src/index.ts'
import { openStage, PATIENCE_MS, type Stage, visit } from './stage.ts'

vi.setConfig({ testTimeout: 60_000 })

let stage: Stage

beforeAll(async () => {
  stage = await openStage({ auth: () => ({ name: 'reader', scopes: ['read'], payloads: false }) })
}, 180_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

it('the list of jobs says that payloads are hidden, and does not show them as null', async () => {
  await stage.skep.enqueue(queue('mail'), { to: 'ada' })
  const { page, close } = await visit(stage.browser, `${stage.url}/jobs`)

  const row = page.getByRole('grid').getByRole('row').filter({ hasText: 'mail' })
  await row.waitFor({ timeout: PATIENCE_MS })
  const text = await row.textContent()
  await close()

  expect(text).toContain('hidden')
  expect(text).not.toContain('null')
})
