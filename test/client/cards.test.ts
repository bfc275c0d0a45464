import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cardOf } from '../../src/client/queues/declarations.ts'
import { describePolicy } from '../../src/core/policies/describe-policy.ts'
import { DEFAULT_POLICY } from '../../src/core/policies/policy.ts'
import {
  archive,
  buried,
  discard,
  exponential,
  fixed,
  never,
  policyOfCard,
  type QueueCard,
  queue,
  retry,
} from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const report = queue('report', {
  payload: z.object({ month: z.string(), copies: z.number().int().optional() }),
  timeout: '2m',
  priority: 5,
  lane: ({ payload }) => payload.month,
  unique: ({ month }) => month,
  onError: retry(5, exponential('1s', { max: '10m' })),
})

describe('the card of a queue', () => {
  it('is put when a worker starts, and tells how the queue is declared', async () => {
    const scene = openScene()
    await scene.through(scene.skep.worker([report.handle(() => 1)]).ready)

    const [card, ...rest] = await scene.client().queues.declarations()

    expect(rest).toEqual([])
    expect(card).toMatchObject({
      queue: 'report',
      schema: { type: 'object', properties: { month: { type: 'string' } }, required: ['month'] },
      timeoutMs: 120_000,
      priority: 5,
      hasLanes: true,
      tellsUnique: true,
    })
    expect(card?.policy).toContain(
      'On an error: up to 5 retries, 1 s to 16 s apart, then dead, kept for 30 d.',
    )
    expect(policyOfCard(card as QueueCard)).toEqual(report.policy)
  })

  it('is written only when it differs', async () => {
    const scene = openScene()
    const puts = (): number =>
      scene.faults.calls.filter(
        ({ operation, argument }) =>
          operation === 'putRecords' && (argument as { kind: string }).kind === 'queue',
      ).length
    const first = scene.skep.worker([report.handle(() => 1)])
    await scene.through(first.ready)
    await scene.through(scene.client().worker([report.handle(() => 1)]).ready)
    expect(puts()).toBe(1)

    const other = queue<{ month: string }>('report', { timeout: '3m' })
    await scene.through(scene.client().worker([other.handle(() => 1)]).ready)

    expect(puts()).toBe(2)
    expect(await scene.skep.queues.declarations()).toMatchObject([{ schema: null, timeoutMs: 180_000 }])
  })

  it('is put again before its time is over', async () => {
    const scene = openScene()
    await scene.through(scene.skep.worker([report.handle(() => 1)]).ready)
    await scene.through(scene.skep.worker([report.handle(() => 1)]).stop())
    scene.runtime.jump(20 * 86_400_000)
    await scene.through(scene.skep.worker([report.handle(() => 1)]).ready)
    scene.runtime.jump(20 * 86_400_000)

    expect(await scene.skep.queues.declarations()).toHaveLength(1)
  })

  it('keeps no worker from starting', async () => {
    const scene = openScene()
    scene.faults.break('foreign', ['getRecords', 'putRecords'])
    const worker = scene.skep.worker([report.handle(() => 1)])

    await scene.through(worker.ready)

    expect(worker.health().status).toBe('running')
  })

  it('has no schema where none can be told, and never fails because of it', () => {
    const throwing = {
      '~standard': {
        version: 1 as const,
        vendor: 'x',
        validate: (value: unknown) => ({ value }),
        jsonSchema: {
          input: () => {
            throw new Error('cannot be represented')
          },
        },
      },
    }

    expect(cardOf(queue('a', { payload: z.object({ at: z.date() }) })).schema).toBeNull()
    expect(cardOf(queue('a', { payload: v.object({ to: v.string() }) })).schema).toBeNull()
    expect(cardOf(queue('a', { payload: throwing })).schema).toBeNull()
    expect(cardOf(queue('a')).schema).toBeNull()
    const endless: Record<string, unknown> = {}
    endless['self'] = endless
    expect(cardOf(queue('a', { jsonSchema: endless })).schema).toBeNull()
    expect(cardOf(queue('a', { jsonSchema: { description: 'x'.repeat(70_000) } })).schema).toBeNull()
  })

  it('has the JSON Schema that the queue says', () => {
    const jsonSchema = { type: 'object', properties: { to: { type: 'string' } } }

    expect(cardOf(queue<{ to: string }>('a', { jsonSchema })).schema).toEqual(jsonSchema)
  })

  it('that somebody else wrote is judged by only if it makes sense', () => {
    const rules = JSON.parse(JSON.stringify(report.policy))
    const broken = [
      null,
      {},
      { ...rules, timeoutMs: -1 },
      { ...rules, onSuccess: buried() },
      { ...rules, onError: { ...rules.onError, retries: 1.5 } },
      { ...rules, onError: { ...rules.onError, backoff: { kind: 'exponential', ms: 1, jitter: 0 } } },
      { ...rules, onLost: { ...rules.onLost, ending: { end: 'explode' } } },
      { ...rules, keepCancelledMs: '3d' },
    ]

    expect(policyOfCard({ rules })).toEqual(report.policy)
    for (const one of broken) expect(policyOfCard({ rules: one as never })).toBe(DEFAULT_POLICY)
    expect(policyOfCard(null)).toBe(DEFAULT_POLICY)
  })
})

describe('a policy in words', () => {
  it('says what each outcome leads to', () => {
    const { policy } = queue('a', {
      timeout: '90s',
      onSuccess: discard(),
      onError: never(archive('12h')),
      onTimeout: retry(1, fixed('5s')),
      onLost: retry(Infinity, fixed(0)),
      keepCancelled: '36h',
    })

    expect(describePolicy(policy)).toEqual([
      'On success: removed at once.',
      'On an error: no retries, failed, kept for 12 h.',
      'An attempt may take 1.5 min; after that: up to 1 retry, after 5 s, then dead, kept for 30 d.',
      'If a worker dies with it: retries forever, at once.',
      'Cancelled: kept for 1.5 d.',
    ])
  })

  it('says so too when there is no time limit, and of a lane that is held', () => {
    const [, error, time] = describePolicy({ ...DEFAULT_POLICY, holdsLane: true })

    expect(error).toBe(
      'On an error: up to 20 retries, 1 s to 1 h apart, then its lane is paused with the job at its head.',
    )
    expect(time).toBe('An attempt may take any length of time.')
  })
})
