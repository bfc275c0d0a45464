import { describe, expect, it } from 'vitest'
import {
  createSkep,
  exponential,
  fixed,
  flow,
  localNotifier,
  queue,
  retry,
  type SkepError,
  schedule,
  sharedLimit,
  silentLogger,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { natsNotifier } from '../../src/nats.ts'
import { otel } from '../../src/otel.ts'
import { grantSql, migrationSql, postgresNotifier, postgresStore } from '../../src/postgres.ts'
import { redisNotifier, redisStore } from '../../src/redis.ts'
import { accessTokens, createServer, ServerClient, skepHandler } from '../../src/server.ts'
import { sqliteStore, withTransaction } from '../../src/sqlite.ts'
import { virtualRuntime } from '../../src/testing.ts'
import { openScene, type Scene } from '../worker/support/scene.ts'
import { publicCallsWithOptions } from './support/public-options.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<unknown, unknown>('mail')
const order = flow('order', (f) => f.input<object>().step(mail))
const id = '01a31c50-0000-7000-8000-0000000000aa'

/** As a program without types would write it. */
const wrong = { dealy: '5m' } as any

async function refusal(call: () => unknown): Promise<SkepError> {
  try {
    await call()
  } catch (error) {
    return error as SkepError
  }
  throw new Error('It was accepted.')
}

/** Everything that takes options, called with one that does not exist. */
const CALLS: Readonly<Record<string, (scene: Scene) => unknown>> = {
  createSkep: () => createSkep({ store: memoryStore(), ...wrong }),
  memoryStore: () => memoryStore(wrong),
  sqliteStore: () => sqliteStore({ file: ':memory:', ...wrong }),
  postgresStore: () => postgresStore({ url: 'postgres://localhost/none', ...wrong }),
  redisStore: () => redisStore({ url: 'redis://localhost', ...wrong }),
  postgresNotifier: () => postgresNotifier({ url: 'postgres://localhost/none', ...wrong }),
  redisNotifier: () => redisNotifier({ url: 'redis://localhost', ...wrong }),
  localNotifier: ({ runtime }) => localNotifier({ runtime, ...wrong }),
  withTransaction: () => withTransaction({} as never, () => 1, wrong),
  migrationSql: () => migrationSql(wrong),
  grantSql: () => grantSql({ role: 'app', ...wrong }),
  virtualRuntime: () => virtualRuntime({ seed: 1, ...wrong }),
  runUntilIdle: () => virtualRuntime({ seed: 1 }).runUntilIdle(wrong),
  natsNotifier: () => natsNotifier({ servers: 'nats://localhost', ...wrong }),
  otel: () => otel(wrong),
  createServer: ({ skep }) => createServer(skep, wrong),
  'createServer, rates': ({ skep }) => createServer(skep, { rates: wrong }),
  'createServer, alerts': ({ skep }) =>
    createServer(skep, { alerts: [{ url: 'https://example.com', secret: 'x', ...wrong }] }),
  listen: ({ skep }) => createServer(skep, { logger: silentLogger }).listen(wrong),
  skepHandler: ({ skep }) => skepHandler(skep, wrong),
  ServerClient: () => new ServerClient({ url: 'http://localhost', ...wrong }),
  'ServerClient, watch': () => new ServerClient({ url: 'http://localhost' }).watch(id, wrong).next(),
  'accessTokens, create': ({ skep }) =>
    accessTokens(skep).create({ name: 'ci', scopes: ['read'], ...wrong }, 'test'),
  queue: () => queue('other', wrong),
  'queue, lanes': () => queue('other', { lanes: wrong }),
  'queue, rate': () => queue('other', { rate: { limit: 1, per: '1s', ...wrong } }),
  sharedLimit: () => sharedLimit('api', wrong),
  handleBatch: () => mail.handleBatch({ size: 1, ...wrong }, () => {}),
  handleInThreads: () => mail.handleInThreads('/none.ts', wrong),
  retry: () => retry(1, fixed(0), wrong),
  fixed: () => fixed(0, wrong),
  exponential: () => exponential('1s', wrong),
  schedule: () => schedule('nightly', { queue: mail, every: '1h', ...wrong }),
  'schedule, flow': () => schedule('nightly', { flow: order, every: '1h', ...wrong }),
  'schedule, unique': () => schedule('nightly', { queue: mail, every: '1h', unique: { key: 'a', ...wrong } }),
  flow: () => flow('other', (f) => f.input<object>().step(mail), wrong),
  'flow, step': () => flow('other', (f) => f.input<object>().step(mail, wrong)),
  'flow, each': () => flow('other', (f) => f.input<object>().each('all', mail, [], wrong)),
  'flow, signal': () => flow('other', (f) => f.input<object>().signal('go', wrong)),
  'flow, repeat': () => flow('other', (f) => f.input<object>().repeat({ most: 1, ...wrong }, (g) => g)),
  enqueue: ({ skep }) => skep.enqueue(mail, 1, wrong),
  'enqueue, unique': ({ skep }) => skep.enqueue(mail, 1, { unique: { key: 'a', ...wrong } }),
  enqueueMany: ({ skep }) => skep.enqueueMany(mail, [1], wrong),
  'enqueueMany of nothing': ({ skep }) => skep.enqueueMany(mail, [], wrong),
  start: ({ skep }) => skep.start(order, {}, wrong),
  'jobs.copy': ({ skep }) => skep.enqueue(mail, 1).then((job) => skep.jobs.copy(job.id, wrong)),
  'groups.group': ({ skep }) => skep.groups.group([mail.job(1)], wrong),
  'groups.group, job': ({ skep }) => skep.groups.group([mail.job(1, wrong)]),
  'groups.chain': ({ skep }) => skep.groups.chain([mail.job(1)], wrong),
  'groups.chord': ({ skep }) => skep.groups.chord([mail.job(1)], mail.job(2), wrong),
  'groups.map': ({ skep }) => skep.groups.map(mail, [1], wrong),
  'groups.starmap': ({ skep }) => skep.groups.starmap(mail, [[1]], wrong),
  'groups.batch': ({ skep }) => skep.groups.batch([mail.job(1)], wrong),
  'groups.open': ({ skep }) => skep.groups.open('key', wrong),
  'group.add': ({ skep }) => skep.groups.keyed('key').add([], wrong),
  'group.seal': ({ skep }) => skep.groups.keyed('key').seal(wrong),
  'group.result': async ({ skep }) => (await skep.groups.group([])).result(wrong),
  'group.settled': async ({ skep }) => (await skep.groups.group([])).settled(wrong),
  worker: ({ skep }) => skep.worker([mail.handle(() => 1)], wrong),
  'worker.stop': ({ skep }) => skep.worker([mail.handle(() => 1)]).stop(wrong),
  'workers.relay': ({ skep }) =>
    skep.workers.relay({ slots: () => 1, onStop: () => {}, onOver: () => {}, onWord: () => {}, ...wrong }),
  result: ({ skep }) => skep.jobs.handle(id).result(wrong),
  'jobs.list': ({ skep }) => skep.jobs.list(wrong),
  'jobs.count': ({ skep }) => skep.jobs.count('', wrong),
  'queues.lanes': ({ skep }) => skep.queues.lanes(mail, wrong),
  'jobs.logs': ({ skep }) => skep.jobs.logs(id, wrong),
  'jobs.watch': ({ skep }) => skep.jobs.watch(id, wrong).next(),
  'queues.explain': ({ skep }) => skep.queues.explain(mail, wrong),
  'notifieraccess.deadNotices': ({ skep }) => skep.notifier.deadNotices(wrong),
  'queues.purge': ({ skep }) => skep.queues.purge(mail, wrong),
  'queues.drop': ({ skep }) => skep.queues.drop(mail, wrong),
  'queues.drain': ({ skep }) => skep.queues.drain(mail, wrong),
  'queues.pause': ({ skep }) => skep.queues.pause(mail, wrong),
  'pause, target': ({ skep }) => skep.queues.pause({ queue: 'mail', ...wrong }),
  'queues.resume': ({ skep }) => skep.queues.resume(mail, wrong),
  'queues.block': ({ skep }) => skep.queues.block(mail, wrong),
  'queues.unblock': ({ skep }) => skep.queues.unblock(mail, wrong),
  'jobs.cancel': ({ skep }) => skep.jobs.cancel(id, wrong),
  'cancel, target': ({ skep }) => skep.jobs.cancel({ queue: 'mail', ...wrong }),
  'jobs.reschedule': ({ skep }) => skep.jobs.reschedule(id, { delay: '1h', ...wrong }),
  'jobs.bury': ({ skep }) => skep.jobs.bury(id, wrong),
  'jobs.prioritize': ({ skep }) => skep.jobs.prioritize(id, 1, wrong),
  'workers.pause': ({ skep }) => skep.workers.pause(id, wrong),
  'workers.resume': ({ skep }) => skep.workers.resume(id, wrong),
  'workers.stop': ({ skep }) => skep.workers.stop(id, wrong),
  'limits.set': ({ skep }) => skep.limits.set(mail, wrong),
  'bulk.start': ({ skep }) => skep.bulk.start({ action: 'cancel', query: 'state:ready', ...wrong }),
  'bulk.count': ({ skep }) => skep.bulk.count({ action: 'cancel', query: 'state:ready', ...wrong }),
  'runs.flows': ({ skep }) => skep.runs.flows(wrong),
  'runs.list': ({ skep }) => skep.runs.list(wrong),
  'runs.counts': ({ skep }) => skep.runs.counts(wrong),
  'run.members': ({ skep }) => skep.runs.run(id).members(wrong),
  'run.result': ({ skep }) => skep.runs.run(id).result(wrong),
  'run.retry': ({ skep }) => skep.runs.run(id).retry(wrong),
  'errors.list': ({ skep }) => skep.errors.list(wrong),
  'errors.mute': ({ skep }) => skep.errors.mute('some', wrong),
  'metrics.series': ({ skep }) => skep.metrics.series({ range: '1h', ...wrong }),
  'metrics.deploys': ({ skep }) => skep.metrics.deploys({ range: '1h', ...wrong }),
  'schedules.declare': ({ skep }) => skep.schedules.declare([], wrong),
  'schedules.list': ({ skep }) => skep.schedules.list(wrong),
  'schedules.remove': ({ skep }) => skep.schedules.remove('nightly', wrong),
  'schedules.pause': ({ skep }) => skep.schedules.pause('nightly', wrong),
}

/** Which of these calls stands for a public one whose name is another; or why none has to. */
const OTHERWISE: Readonly<Record<string, keyof typeof CALLS | { readonly because: string }>> = {
  'GroupHandle.result': 'group.result',
  'GroupHandle.settled': 'group.settled',
  'Groups.result': 'group.result',
  'Groups.settled': 'group.settled',
  'OpenGroup.add': 'group.add',
  'OpenGroup.seal': 'group.seal',
  'OpenGroup.result': 'group.result',
  'OpenGroup.settled': 'group.settled',
  'ErrorGroups.list': 'errors.list',
  'ErrorGroups.mute': 'errors.mute',
  'JobHandle.result': 'result',
  'JobHandle.logs': 'jobs.logs',
  'JobHandle.watch': 'jobs.watch',
  'Queue.job': 'groups.group, job',
  'RunHandle.members': 'run.members',
  'RunHandle.result': 'run.result',
  'RunHandle.retry': 'run.retry',
  'Runs.start': 'start',
  'Runs.members': 'run.members',
  'Runs.result': 'run.result',
  'Relay.stop': 'worker.stop',
  'ServerClient.watch': 'ServerClient, watch',
  'SkepServer.listen': 'listen',
  'Tokens.create': 'accessTokens, create',
  'new Relay': 'workers.relay',
  'new Skep': 'createSkep',
  'new SkepServer': 'createServer',
  'JobContext.enqueue': { because: 'by what a handler enqueues' },
  'JobContext.spawn': { because: 'by what a handler enqueues' },
  'JobContext.complete': { because: 'by what a handler enqueues' },
  'new LeaseLostError': { because: 'ErrorOptions of JavaScript' },
  'new SkepError': { because: 'ErrorOptions of JavaScript' },
  'new StoreError': { because: 'ErrorOptions of JavaScript' },
  'new Tokens': { because: 'what accessTokens() is made of' },
  'VirtualRuntime.timer': { because: 'a part of the contract of a runtime' },
  sleepFor: { because: 'a part of the contract of a runtime' },
  assertOptions: { because: 'it is what refuses them' },
  'Events.open': { because: 'inside of the server' },
  'ReceiverHub.close': { because: 'inside of the server' },
  'ReceiverHub.connect': { because: 'inside of the server' },
  'ReceiverHub.poll': { because: 'inside of the server' },
  describeNotices: { because: 'a suite for adapters' },
  describeNotifier: { because: 'a suite for adapters' },
  describeStore: { because: 'a suite for adapters' },
  replayCommands: { because: 'a suite for adapters' },
  runOracle: { because: 'a suite for adapters' },
}

describe('every public call with options', () => {
  const found = publicCallsWithOptions()

  it('is found in the types', () => {
    expect(found).toEqual(
      expect.arrayContaining(['Skep.enqueue', 'grantSql', 'Metrics.series', 'Tokens.create']),
    )
  })

  it.each(found)('is among those that are called here with one that does not exist: %s', (name) => {
    const other = OTHERWISE[name]
    if (typeof other === 'object') return
    // Skep.enqueue is "enqueue", Groups.map is "groups.map", new ServerClient is "ServerClient".
    const plain = name.replace(/^(?:Skep\.|Queue\.|VirtualRuntime\.|new )/, '')
    expect(Object.keys(CALLS)).toContain(
      other ?? plain.replace(/^[A-Z]\w*(?=\.)/, (type) => type.toLowerCase()),
    )
  })

  it('that is listed as another one still exists', () => {
    expect(Object.keys(OTHERWISE).filter((name) => !found.includes(name))).toEqual([])
  })
})

describe('an option that does not exist is refused', () => {
  it.each(Object.keys(CALLS))('by %s', async (name) => {
    const scene = openScene()

    const error = await refusal(() => CALLS[name]?.(scene))

    expect(error).toMatchObject({ code: 'OPTION_INVALID', facts: { name: 'dealy' } })
    expect(error.message).toMatch(/has no option "dealy"\..* Its options are \w+/)
    expect(scene.faults.arguments('insert').flatMap(({ jobs }) => jobs)).toHaveLength(
      name === 'jobs.copy' ? 1 : 0,
    )
  })

  it.each(Object.keys(CALLS).filter((name) => ['enqueue', 'start', 'worker', 'groups.group'].includes(name)))(
    'also where something else is given instead of options, by %s',
    async () => {
      const { skep } = openScene()
      for (const given of [null, 5_000, '5m', ['5m']] as never[]) {
        const errors = [
          await refusal(() => skep.enqueue(mail, 1, given)),
          await refusal(() => skep.start(order, {}, given)),
          await refusal(() => skep.groups.group([], given)),
          await refusal(() => skep.worker([mail.handle(() => 1)], given)),
          await refusal(() => queue('other', given)),
        ]
        expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'OPTION_INVALID'))
      }
    },
  )

  it.each(STORES)('before anything is written (%s)', async (name) => {
    const skep = openSkep(await openStore(name))
    const calls = [
      () => skep.enqueue(mail, 1, wrong),
      () => skep.enqueueMany(mail, [1, 2], { each: (n) => (n === 2 ? wrong : {}) }),
      () => skep.groups.group([mail.job(1), mail.job(2, wrong)]),
      () => skep.enqueue(mail, 1, { unique: { key: 'a', hold: '5m' } as never }),
    ]
    for (const call of calls) expect((await refusal(call)).code).toMatch(/OPTION_INVALID|BATCH_ITEM_INVALID/)

    expect((await skep.jobs.list({ queue: 'mail' })).jobs).toEqual([])
  })

  it('by what a handler enqueues', async () => {
    const scene = openScene()
    const seen: string[] = []
    const tell = async (call: () => unknown): Promise<void> =>
      void seen.push(((await refusal(call)).facts as { name: string }).name)
    scene.skep.worker([
      mail.handle(async ({ enqueue, spawn, complete }) => {
        await tell(() => enqueue(order as never, 1, wrong))
        await tell(() => enqueue(mail, 1, { tx: {} } as never))
        await tell(() => spawn([], wrong))
        await tell(() => complete(1, wrong))
      }),
    ])
    await scene.through((await scene.skep.enqueue(mail, 1)).result())

    expect(seen).toEqual(['dealy', 'tx', 'dealy', 'dealy'])
  })
})

describe('the refusal of an option', () => {
  const skep = createSkep({ store: memoryStore() })
  const on = (call: (options: never) => unknown, name: string, hint: RegExp) =>
    [name, () => call({ [name]: 1 } as never), hint] as const
  const enqueue = (options: never) => skep.enqueue(mail, 1, options)
  const worker = (options: never) => skep.worker([mail.handle(() => 1)], options)
  const declare = (options: never) => queue('other', options)

  it.each([
    on(enqueue, 'dealy', /Did you mean "delay"\?/),
    on(enqueue, 'run_at', /Did you mean "runAt"\?/),
    on(enqueue, 'attempts', /onError: retry\(3/),
    on(enqueue, 'retryLimit', /onError: retry\(3/),
    on(enqueue, 'max_attempts', /onError: retry\(3/),
    on(enqueue, 'backoff', /exponential\('1s'/),
    on(enqueue, 'retryBackoff', /exponential\('1s'/),
    on(enqueue, 'removeOnComplete', /onSuccess: discard\(\)/),
    on(enqueue, 'removeOnFail', /buried\('30d'\)/),
    on(enqueue, 'jobId', /Use id .*or unique/),
    on(enqueue, 'singletonKey', /Use unique/),
    on(enqueue, 'jobKey', /Use unique/),
    on(enqueue, 'startAfter', /delay: '5m', or runAt/),
    on(enqueue, 'scheduled_at', /delay: '5m', or runAt/),
    on(enqueue, 'expireInSeconds', /timeout: '5m'/),
    on(enqueue, 'lifo', /priority/),
    on(enqueue, 'repeat', /schedule\('id'/),
    on(enqueue, 'parent', /skep\.groups/),
    on(enqueue, 'concurrency', /It is an option of queue\(\)|It is an option of .*worker\(\)/),
    on(enqueue, 'onError', /It is an option of queue\(\)/),
    on(worker, 'concurency', /Did you mean "concurrency"\?/),
    on(worker, 'lockDuration', /lease/),
    on(worker, 'pollInterval', /poll/),
    on(declare, 'timeuot', /Did you mean "timeout"\?/),
    on(declare, 'limiter', /rate: \{ limit/),
    on((options) => skep.enqueue(mail, 1, { unique: { key: 'a', ...(options as object) } }), 'hold', /scope/),
    on((options) => createSkep(options), 'connection', /store: postgresStore/),
  ])('of %s says what to write', async (_name, call, hint) => {
    expect((await refusal(call)).message).toMatch(hint)
  })

  it('keeps to names that JavaScript knows of every object', async () => {
    expect((await refusal(() => enqueue({ constructor: 1 } as never))).message).toContain('"constructor"')
  })
})

describe('what is not a queue, a handler or a flow', () => {
  it('is refused with what to write', async () => {
    const { skep } = openScene()
    const calls: readonly (readonly [() => unknown, RegExp])[] = [
      [() => skep.enqueue('mail' as never, {}), /queue\("mail"\)/],
      [() => skep.enqueue(undefined as never, {}), /pass a declared queue/],
      [() => skep.enqueueMany('mail' as never, [1]), /queue\("mail"\)/],
      [() => skep.enqueueMany(mail, 1 as never), /takes an array/],
      [() => skep.start('order' as never, {}), /flow\(name/],
      [() => skep.worker([mail] as never), /queue "mail" without a handler/],
      [() => skep.worker(mail.handle(() => 1) as never), /array with at least one handler/],
      [() => skep.worker(['mail'] as never), /it takes handlers/],
      [() => skep.groups.group([mail] as never), /queue\.job\(payload/],
      [() => mail.handle(undefined as never), /pass a function/],
      [() => flow('other', (f) => f.step('mail' as never)), /give it a queue or a flow/],
      [() => retry(3, '1s' as never), /exponential\('1s'/],
      [() => createSkep(undefined as never), /createSkep needs a store/],
    ]
    for (const [call, message] of calls) expect((await refusal(call)).message).toMatch(message)
  })
})
