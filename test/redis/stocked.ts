/** A Redis store with something of everything in it, at the time START. */
import { Redis } from 'ioredis'
import { parseKeyRange } from '../../src/core/lanes/key-range.ts'
import { redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { keysOf } from '../../src/stores/redis/keys.ts'
import { group, groupOf, members, move, run, runOf } from '../../src/testing/store/flows/group-samples.ts'
import { line, note } from '../../src/testing/store/job-log-samples.ts'
import {
  DAY,
  HOUR,
  idOf,
  MINUTE,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  START,
  sample,
  tokenOf,
  unique,
  verdict,
} from '../../src/testing/store/samples.ts'
import { redisUrlVariable } from '../servers/index.ts'

let opened = 0

export interface World {
  readonly store: Store
  readonly client: Redis
  readonly prefix: string
  key(name: string): string
  close(): Promise<void>
}

/** An empty store on the Redis of the test run, and a client beside it. */
export async function openWorld(): Promise<World> {
  const url = process.env[redisUrlVariable] as string
  const prefix = `redis-${process.pid}-${++opened}`
  const client = new Redis(url)
  const store = redisStore({ url, prefix, unsafe: { lateFsync: true } })
  await store.ready()
  return {
    store,
    client,
    prefix,
    key: (name) => `{${prefix}}:${name}`,
    async close() {
      await client.del(...keysOf(prefix))
      await store.close()
      client.disconnect()
    },
  }
}

/** Sample jobs, by what became of them. */
export const JOBS = {
  ready: 1,
  delayed: 2,
  running: 3,
  done: 4,
  active: 5,
  window: 6,
  gone: 7,
  laneRunning: 8,
  laneReady: 9,
  laneOther: 10,
  memberDone: 11,
  memberReady: 12,
  queued: 13,
} as const

export const now = START

export async function fill({ store }: World): Promise<void> {
  const lane = (n: number, name: string) => sample(n, { queue: OTHER_QUEUE, lane: name })
  const limits = { laneConcurrency: 1 }
  await store.setLimits({
    space: SPACE,
    limits: [{ target: { queue: OTHER_QUEUE }, by: 'code', fields: limits }],
    now,
  })
  const [first, second] = members(2, groupOf(1), JOBS.memberDone)
  const jobs = [
    sample(JOBS.ready),
    sample(JOBS.delayed, { delayMs: HOUR }),
    sample(JOBS.running),
    sample(JOBS.done),
    sample(JOBS.active, { unique: unique('active') }),
    sample(JOBS.window, { unique: unique('window', { scope: 'window', windowMs: HOUR }) }),
    sample(JOBS.gone),
    lane(JOBS.laneRunning, 'a'),
    lane(JOBS.laneReady, 'a'),
    lane(JOBS.laneOther, 'b'),
    ...(first && second ? [first, second] : []),
    sample(JOBS.queued, { unique: unique('queued', { scope: 'queued' }) }),
  ]
  const top = run(1, { attributes: ['user:62'] })
  await store.insert({ jobs, groups: [group(2)], runs: [top], now })
  await store.moveRuns({
    moves: [move(1, 0, { groups: [group(1, { id: groupOf(2), run: runOf(1) })] })],
    now,
  })

  await claim(store, QUEUE, [JOBS.running, JOBS.done, JOBS.gone, JOBS.memberDone], 1)
  await claim(store, OTHER_QUEUE, [JOBS.laneRunning], 2)
  // From a range in which there is nothing, so that the queue is sliced.
  const sources = [{ space: SPACE, queue: OTHER_QUEUE, limit: 1, keys: parseKeyRange('f0-') }]
  await store.claim({ sources, limit: 1, workerId: 'worker-a', token: tokenOf(9), leaseMs: MINUTE, now })
  const settlements = [
    { space: SPACE, id: idOf(JOBS.done), token: tokenOf(1), verdict: verdict('done') },
    { space: SPACE, id: idOf(JOBS.gone), token: tokenOf(1), verdict: verdict('done', { keepMs: null }) },
    { space: SPACE, id: idOf(JOBS.memberDone), token: tokenOf(1), verdict: verdict('done') },
  ]
  await store.settle({ settlements, now })
  await store.note({
    notes: [{ space: SPACE, id: idOf(JOBS.running), token: tokenOf(1), ...note([line(1), line(2)]) }],
    now,
  })
  const hold = {
    kind: 'pause',
    space: SPACE,
    queue: OTHER_QUEUE,
    lane: 'c',
    reason: null,
    by: null,
    forMs: null,
  } as const
  await store.hold({ holds: [hold], now })
  const record = { id: 'a', body: '{}', revision: '1', expiresAt: START + HOUR }
  await store.putRecords({
    scope: SPACE,
    kind: 'token',
    records: [record, { ...record, id: 'b', expiresAt: null }],
    now,
  })
  // Put anew, it ends later.
  await store.putRecords({
    scope: SPACE,
    kind: 'token',
    records: [{ ...record, expiresAt: START + DAY }],
    now,
  })
  const schedule = {
    space: SPACE,
    id: 'nightly',
    revision: 'one',
    spec: '{}',
    dynamic: false,
    declaredBy: null,
  }
  await store.putSchedules({ schedules: [{ ...schedule, nextAt: START + DAY, expect: null }], now })
}

async function claim(store: Store, queue: string, jobs: readonly number[], token: number): Promise<void> {
  const sources = [{ space: SPACE, queue, limit: jobs.length }]
  const call = { sources, limit: jobs.length, workerId: 'worker-a', leaseMs: MINUTE, now }
  await store.claim({ ...call, token: tokenOf(token), ids: jobs.map(idOf) })
}
