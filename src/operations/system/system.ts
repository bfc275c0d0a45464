import process from 'node:process'
import type { DoctorFinding } from '../../index.ts'
import { operation } from '../operation.ts'
import { nothing } from '../schema/inputs.ts'
import { type Check, check, count, said } from '../schema/outputs.ts'
import { all, number, object, oneOf } from '../schema/schema.ts'

export const systemGet = operation({
  name: 'system.get',
  method: 'GET',
  path: '/system',
  summary: 'Returns the health of the store, the notifier and this server, each finding with a fix.',
  scope: 'read',
  input: nothing,
  output: object({
    store: object({ label: said, durability: said, level: said, latencyMs: number() }),
    notifier: object({ status: oneOf(['up', 'down', 'off']), detail: said }),
    checks: all(check),
    server: object({
      version: said,
      node: said,
      upMs: number(),
      memoryBytes: number(),
      lagMs: number(),
      connections: count,
    }),
    limits: all(said, 'Every feature that this store does not support, in words.'),
  }),
  // The doctor looks at every queue.
  queuesOf: () => ['*'],
  async run(_input, { skep, services }) {
    const [{ durability, latencyMs, notifier, cannot, findings }, alerts] = await Promise.all([
      skep.doctor(),
      services.alerts.checks(skep.space),
    ])
    const { about, process: vitals } = services
    return {
      store: {
        label: about.place ?? 'store',
        durability: durability.detail,
        level: durability.level,
        latencyMs,
      },
      notifier: { status: notifier.status, detail: notifier.detail },
      checks: [...findings.map(checkOf), ...alerts],
      server: {
        version: about.version,
        node: process.versions.node,
        upMs: vitals.upMs(),
        memoryBytes: process.memoryUsage.rss(),
        lagMs: vitals.lagMs(),
        connections: vitals.connections(),
      },
      limits: cannot,
    }
  },
})

const STATUS = { ok: 'ok', warn: 'warning', fail: 'failed' } as const

function checkOf({ name, status, text, fix }: DoctorFinding): Check {
  return { name, status: STATUS[status], text, fix }
}
