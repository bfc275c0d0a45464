import { describe, expect, it } from 'vitest'
import { flow, never, queue, type Skep, schedule } from '../../src/index.ts'
import type { RecordStore } from '../../src/store/records.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<number>('mail')
const bad = queue<object>('bad', { onError: never() })
const unserved = queue<number>('unserved')
const order = flow('order', (f) => f.step(bad))

/** What a writing call may need. All of it is in the store before the outage. */
interface Prepared {
  readonly skep: Skep
  readonly scene: Scene
  readonly waiting: string
  readonly dead: string
  readonly worker: string
  readonly run: string
  readonly failedRun: string
  readonly errorGroup: string
  readonly bulk: string
}

type Write = (prepared: Prepared) => unknown

/**
 * All methods of the public objects: calls that write, and by name those that do not. A new method is in neither list, so the first test
 * fails until it is decided which it is.
 */
const METHODS: Readonly<
  Record<string, { readonly writes: Readonly<Record<string, Write>>; readonly others: readonly string[] }>
> = {
  skep: {
    writes: {
      enqueue: ({ skep }) => skep.enqueue(mail, 1),
      enqueueMany: ({ skep }) => skep.enqueueMany(mail, [1, 2]),
      start: ({ skep }) => skep.start(order, {}),
    },
    others: [
      // A program calls these first and wants them to fail early.
      'ready',
      'migrate',
      // It continues through every outage by itself.
      'worker',
      'inSpace',
      'on',
      'close',
      'spaces',
      'doctor',
    ],
  },
  jobs: {
    writes: {
      copy: ({ skep, dead }) => skep.jobs.copy(dead),
      cancel: ({ skep, waiting }) => skep.jobs.cancel(waiting),
      bury: ({ skep, waiting }) => skep.jobs.bury(waiting),
      retry: ({ skep, dead }) => skep.jobs.retry(dead),
      promote: ({ skep, waiting }) => skep.jobs.promote(waiting),
      reschedule: ({ skep, waiting }) => skep.jobs.reschedule(waiting, { delay: '1h' }),
      remove: ({ skep, dead }) => skep.jobs.remove(dead),
      prioritize: ({ skep, waiting }) => skep.jobs.prioritize(waiting, 1, { priorityMode: 'head-start' }),
      prune: ({ skep }) => skep.jobs.prune(),
    },
    others: ['handle', 'get', 'attempts', 'logs', 'watch', 'list', 'count', 'explain'],
  },
  queues: {
    writes: {
      pause: ({ skep }) => skep.queues.pause(mail),
      resume: ({ skep }) => skep.queues.resume(mail),
      block: ({ skep }) => skep.queues.block(mail),
      unblock: ({ skep }) => skep.queues.unblock(mail),
      drain: ({ skep }) => skep.queues.drain(mail),
      purge: ({ skep }) => skep.queues.purge(mail),
      drop: ({ skep }) => skep.queues.drop(unserved, { force: true }),
    },
    others: ['list', 'declarations', 'lanes', 'explain', 'holds'],
  },
  workers: {
    writes: {
      pause: ({ skep, worker }) => skep.workers.pause(worker),
      resume: ({ skep, worker }) => skep.workers.resume(worker),
      stop: ({ skep, worker }) => skep.workers.stop(worker),
    },
    others: ['list', 'relay'],
  },
  notifier: { writes: {}, others: ['health', 'onHint', 'deadNotices'] },
  records: {
    writes: {
      putRecords: ({ skep }) =>
        skep.records.putRecords({
          scope: 'default',
          kind: 'mine',
          records: [{ id: 'a', body: '{}', revision: '1', expiresAt: null }],
        }),
      removeRecords: ({ skep }) => skep.records.removeRecords({ scope: 'default', kind: 'mine', ids: ['a'] }),
    },
    others: ['getRecords', 'listRecords'],
  },
  limits: {
    writes: {
      set: ({ skep }) => skep.limits.set(mail, { concurrency: 1 }),
      reset: ({ skep }) => skep.limits.reset(mail),
    },
    others: ['list'],
  },
  bulk: {
    writes: {
      start: ({ skep }) => skep.bulk.start({ action: 'retry', query: 'queue:bad state:dead' }),
      stop: ({ skep, bulk }) => skep.bulk.stop(bulk),
    },
    others: ['count', 'get', 'list', 'serve', 'close'],
  },
  errors: {
    writes: {
      mute: ({ skep, errorGroup }) => skep.errors.mute(errorGroup),
      unmute: ({ skep, errorGroup }) => skep.errors.unmute(errorGroup),
    },
    others: ['list', 'get'],
  },
  metrics: { writes: {}, others: ['series', 'rates', 'deploys', 'prometheus'] },
  schedules: {
    writes: {
      sync: ({ skep }) => {
        skep.schedules.declare([schedule('declared', { queue: mail, payload: 1, every: '1h' })], {
          owner: 'app',
        })
        return skep.schedules.sync()
      },
      put: ({ skep }) => skep.schedules.put(schedule('hourly', { queue: mail, payload: 1, every: '1h' })),
      remove: ({ skep }) => skep.schedules.remove('nightly'),
      pause: ({ skep }) => skep.schedules.pause('nightly'),
      resume: ({ skep }) => skep.schedules.resume('nightly'),
      runNow: ({ skep }) => skep.schedules.runNow('nightly'),
    },
    // What is declared is written by `sync` and by workers.
    others: ['declare', 'get', 'list', 'preview'],
  },
  runs: {
    writes: {
      start: ({ skep }) => skep.runs.start(order, {}),
      signal: ({ skep, run }) => skep.runs.signal(run, 'paid', 1),
      cancel: ({ skep, run }) => skep.runs.cancel(run, 'Not wanted.'),
      retry: ({ skep, failedRun }) => skep.runs.retry(failedRun),
    },
    others: ['run', 'get', 'list', 'explain', 'members', 'flows', 'counts', 'result', 'branches'],
  },
  groups: {
    writes: {
      group: ({ skep }) => skep.groups.group([mail.job(1)]),
      open: ({ skep }) => skep.groups.open('another'),
      chain: ({ skep }) => skep.groups.chain([mail.job(1), mail.job(2)]),
      chord: ({ skep }) => skep.groups.chord([mail.job(1)], mail.job(2)),
      map: ({ skep }) => skep.groups.map(mail, [1, 2]),
      starmap: ({ skep }) => skep.groups.starmap(mail, [[1], [2]], (n) => n),
      batch: ({ skep }) => skep.groups.batch([mail.job(1)]),
    },
    others: ['keyed', 'get', 'results', 'settled', 'result'],
  },
  job: {
    writes: { cancel: ({ skep, waiting }) => skep.jobs.handle(waiting).cancel() },
    others: ['result', 'get', 'logs', 'watch', 'explain'],
  },
  run: {
    writes: {
      signal: ({ skep, run }) => skep.runs.run(run).signal('paid'),
      cancel: ({ skep, run }) => skep.runs.run(run).cancel(),
      // With a step, which is looked for first.
      retry: ({ skep, failedRun }) => skep.runs.run(failedRun).retry({ from: 'bad' }),
    },
    others: ['get', 'explain', 'members', 'result', 'branches'],
  },
  openGroup: {
    writes: {
      add: ({ skep }) => skep.groups.keyed<unknown>('open').add([mail.job(1)]),
      seal: ({ skep }) => skep.groups.keyed('open').seal(),
    },
    others: ['result', 'settled', 'get', 'results'],
  },
}

const WRITES = Object.entries(METHODS).flatMap(([object, { writes }]) =>
  Object.entries(writes).map(([method, write]): [string, Write] => [`${object}.${method}`, write]),
)

/** The methods of an object, those that it inherits too. Getters are objects of their own. */
function methodsOf(object: object): string[] {
  const names = new Set<string>()
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
  }
  return [...names].sort()
}

/** The objects with methods that a client has, by name; and handles, which its methods give. */
function objectsOf(skep: Skep): Record<string, object> {
  const found: Record<string, object> = { skep }
  const getters = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(skep))
  const names = [...Object.keys(skep), ...Object.keys(getters).filter((name) => getters[name]?.get)]
  for (const name of names) {
    const value = (skep as unknown as Record<string, unknown>)[name]
    if (typeof value === 'object' && value !== null && methodsOf(value).length > 0) found[name] = value
  }
  const id = '01890000-0000-7000-8000-000000000000'
  return { ...found, job: skep.jobs.handle(id), run: skep.runs.run(id), openGroup: skep.groups.keyed('open') }
}

async function prepare(scene: Scene): Promise<Prepared> {
  const { skep } = scene
  const worker = skep.worker([
    bad.handle(() => {
      throw new Error('No.')
    }),
    order,
  ])
  const client = scene.client()
  await scene.through(
    (async () => {
      await worker.ready
      await skep.enqueue(unserved, 1)
      await skep.groups.open('open')
      await skep.schedules.put(schedule('nightly', { queue: mail, payload: 1, every: '1d' }))
    })(),
  )
  const waiting = await scene.through(skep.enqueue(mail, 1, { delay: '1d' }))
  const dead = await scene.through(skep.enqueue(bad, {}))
  const failed = await scene.through(skep.start(order, {}))
  await scene.until(async () => (await failed.get())?.status === 'failed')
  await scene.until(async () => (await scene.state(dead.id)) === 'dead')
  await scene.until(async () => (await skep.errors.list()).groups.length > 0)
  // Nothing works these off.
  const other = flow('other', (f) => f.input<object>().signal('paid').step(bad))
  const run = await scene.through(client.start(other, {}))
  const bulk = await scene.through(client.bulk.start({ action: 'cancel', query: 'queue:none', delay: '1h' }))
  const [group] = (await skep.errors.list()).groups
  return {
    skep: client,
    scene,
    waiting: waiting.id,
    dead: dead.id,
    worker: worker.id,
    run: run.id,
    failedRun: failed.id,
    errorGroup: group?.id as string,
    bulk: bulk.id,
  }
}

it('Each method of the public objects is known as one that writes or one that does not', async () => {
  const scene = openScene()

  const known = Object.entries(METHODS).map(([name, { writes, others }]) => [
    name,
    [...Object.keys(writes), ...others].sort(),
  ])
  const found = Object.entries(objectsOf(scene.skep)).map(([name, object]) => [name, methodsOf(object)])

  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(known))
})

describe('In an outage that is shorter than enqueueTimeout', () => {
  it.each(WRITES)('%s waits for its end', async (_, write) => {
    const scene = openScene()
    const prepared = await prepare(scene)
    scene.faults.break('before')
    let end = 'none yet'

    const call = Promise.resolve(write(prepared)).then(
      () => (end = 'resolved'),
      (error: unknown) => (end = String(error)),
    )
    await scene.advance(6_000)
    expect(end).toBe('none yet')
    scene.faults.heal()
    await scene.through(call)

    expect(end).toBe('resolved')
  })

  it.each(WRITES)('%s does so on a client that has not called the store before', async (_, write) => {
    const scene = openScene()
    const prepared = await prepare(scene)
    const skep = scene.client()
    scene.faults.break('before')
    let end = 'none yet'

    const call = Promise.resolve(write({ ...prepared, skep })).then(
      () => (end = 'resolved'),
      (error: unknown) => (end = String(error)),
    )
    await scene.advance(6_000)
    expect(end).toBe('none yet')
    scene.faults.heal()
    await scene.through(call)

    expect(end).toBe('resolved')
  })
})

it('In one that is longer, each fails with STORE_UNAVAILABLE, and has written nothing', async () => {
  const scene = openScene()
  const prepared = await prepare(scene)
  scene.faults.break('before')

  const codes = await scene.through(
    Promise.all(WRITES.map(([, write]) => codeOf(Promise.resolve(write(prepared))))),
  )

  expect(WRITES.map(([name], n) => [name, codes[n]])).toEqual(
    WRITES.map(([name]) => [name, 'STORE_UNAVAILABLE']),
  )
})

describe('A write of records whose reply was lost', () => {
  const put = (records: RecordStore, revision: string, expect?: string | null) =>
    records.putRecords({
      scope: 'default',
      kind: 'mine',
      records: [
        {
          id: 'a',
          body: `"${revision}"`,
          revision,
          ...(expect !== undefined && { expect }),
          expiresAt: null,
        },
      ],
    })
  const stored = async (scene: Scene): Promise<string | undefined> => {
    const { records } = await scene.truth.getRecords({ scope: 'default', kind: 'mine', ids: ['a'] })
    return records[0]?.revision
  }

  it.each(['after', 'lost'] as const)('is repeated if it replaces a revision (%s)', async (fault) => {
    const scene = openScene()
    await put(scene.skep.records, '1')
    scene.faults.next('putRecords', fault, 'before')

    const { results } = await scene.through(put(scene.skep.records, '2', '1'))

    expect(results).toEqual(['ok'])
    expect(await stored(scene)).toBe('2')
    expect(scene.faults.count('putRecords')).toBe(4)
  })

  it.each([
    ['replaces whatever is there', undefined],
    ['makes one', null],
  ])('is not repeated if it %s', async (_, expected) => {
    const scene = openScene()
    scene.faults.next('putRecords', 'before', 'after')

    expect(await codeOf(scene.through(put(scene.skep.records, '1', expected)))).toBe('STORE_UNKNOWN')
    expect(scene.faults.count('putRecords')).toBe(2)
  })

  it('is in doubt if another writer has changed the record since', async () => {
    const scene = openScene()
    await put(scene.skep.records, '1')
    scene.faults.next('putRecords', 'after', 'before')
    const doubted = codeOf(put(scene.skep.records, '2', '1'))
    await scene.until(async () => (await stored(scene)) === '2')
    await put(scene.truth, '3', '2')

    expect(await scene.through(doubted)).toBe('STORE_UNKNOWN')
    expect(await stored(scene)).toBe('3')
  })

  it('leaves one bulk action, and one mute', async () => {
    const scene = openScene()
    const { skep, bulk, errorGroup } = await prepare(scene)
    scene.faults.next('putRecords', 'after', 'lost', 'after')
    const started = await scene.through(skep.bulk.start({ action: 'cancel', query: 'queue:x', delay: '1h' }))
    scene.faults.next('putRecords', 'after', 'lost', 'after')
    const stopped = await scene.through(skep.bulk.stop(bulk))
    scene.faults.next('putRecords', 'after', 'lost', 'after')
    const muted = await scene.through(skep.errors.mute(errorGroup, { by: 'ann' }))

    const listed = (await skep.bulk.list()).map(({ id, status }) => [id, status] as const)
    expect(new Map(listed)).toEqual(
      new Map([
        [started.id, 'running'],
        [bulk, 'stopped'],
      ]),
    )
    expect(listed).toHaveLength(2)
    expect(stopped?.status).toBe('stopped')
    expect(muted?.muted?.by).toBe('ann')
  })
})
