import { describe, expect, it } from 'vitest'
import { attemptLine, readAttempt } from '../../src/core/jobs/attempts.ts'
import { lineBytes } from '../../src/core/jobs/job-log.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { fixed, queue, retry, type Skep } from '../../src/index.ts'
import { gate, openScene } from '../worker/support/scene.ts'
import { FakeTransaction, withTransactions } from '../worker/support/transactions.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const shaky = queue<number, number>('shaky', { onError: retry(2, fixed(0)) })

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 2_000) throw new Error(`Never so: ${String(condition)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const stateOf = async (skep: Skep, id: string): Promise<string | undefined> =>
  (await skep.jobs.get(id))?.state

describe.each(STORES)('the attempts of a job in %s', (name) => {
  it('are its runs that ended badly, each with its error, among the lines of its handlers', async () => {
    const skep = openSkep(await openStore(name))
    const worker = skep.worker(
      [
        shaky.handle(({ attempt, log }) => {
          log(`run ${attempt}`)
          throw Object.assign(new RangeError(`bad ${attempt}`), { code: 'E_BAD' })
        }),
      ],
      { version: '2026.11.18-2' },
    )
    const { id } = await skep.enqueue(shaky, 1)
    await until(async () => (await stateOf(skep, id)) === 'dead')

    const attempts = await skep.jobs.attempts(id)

    expect(
      attempts.map(({ n, kind, message, name: error, code, generation }) => [
        n,
        kind,
        message,
        error,
        code,
        generation,
      ]),
    ).toEqual([
      [1, 'error', 'bad 1', 'RangeError', 'E_BAD', 0],
      [2, 'error', 'bad 2', 'RangeError', 'E_BAD', 0],
      [3, 'error', 'bad 3', 'RangeError', 'E_BAD', 0],
    ])
    expect(attempts[0]?.stack).toContain('attempts.test.ts')
    for (const { startedAt, at, worker: id, version } of attempts) {
      expect({ id, version }).toEqual({ id: worker.id, version: '2026.11.18-2' })
      expect(startedAt?.getTime()).toBeLessThanOrEqual(at.getTime())
    }
    expect((await skep.jobs.logs(id)).lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'info run 1',
      'error bad 1',
      'info run 2',
      'error bad 2',
      'info run 3',
      'error bad 3',
    ])
  })

  it('of a job that succeeds are none, and it has no notes', async () => {
    const skep = openSkep(await openStore(name))
    skep.worker([shaky.handle(() => 1)])
    const job = await skep.enqueue(shaky, 1)
    await job.result()

    expect(await skep.jobs.attempts(job.id)).toEqual([])
    expect((await skep.jobs.logs(job.id)).lines).toEqual([])
  })
})

describe('the attempts of a job', () => {
  it('go on after a retry, and only the newest twenty are shown', async () => {
    const scene = openScene()
    const { skep } = scene
    const often = queue<number>('often', { onError: retry(14, fixed(0)) })
    skep.worker([
      often.handle(() => {
        throw new Error('again')
      }),
    ])
    const { id } = await skep.enqueue(often, 1)
    await scene.until(async () => (await scene.state(id)) === 'dead')
    await skep.jobs.retry(id)
    await scene.until(async () => (await scene.state(id)) === 'dead')

    const attempts = await skep.jobs.attempts(id)

    expect(attempts).toHaveLength(20)
    expect(attempts[0]).toMatchObject({ n: 11, generation: 0 })
    expect(attempts.at(-1)).toMatchObject({ n: 15, generation: 1 })
  })

  it('tell of a time limit, of a cancel while it ran, and of a handler that buries', async () => {
    const scene = openScene()
    const { skep } = scene
    const slow = queue<string>('slow', { timeout: '1s', onTimeout: retry(0, fixed(0)) })
    const started = gate()
    skep.worker([
      slow.handle(async ({ payload, signal }) => {
        started.open()
        if (payload === 'unreadable') throw new Error('never')
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
        throw signal.reason
      }),
    ])
    const late = await skep.enqueue(slow, 'late')
    await scene.until(async () => (await scene.state(late.id)) === 'dead')
    const stopped = await skep.enqueue(slow, 'stopped', { timeout: 'none' })
    await scene.until(async () => (await scene.state(stopped.id)) === 'running')
    await skep.jobs.cancel(stopped.id, { reason: 'Not now' })
    await scene.until(async () => (await scene.state(stopped.id)) === 'cancelled')

    expect(await skep.jobs.attempts(late.id)).toMatchObject([{ n: 1, kind: 'timeout' }])
    expect(await skep.jobs.attempts(stopped.id)).toMatchObject([{ n: 1, kind: 'cancel', message: 'Not now' }])
  })

  it('tell of a worker that was lost', async () => {
    const scene = openScene()
    const other = scene.client(scene.truth)
    const stuck = queue<number>('stuck', { onLost: retry(0, fixed(0)) })
    const { id } = await scene.skep.enqueue(stuck, 1)
    // A worker that died: it took the job and nobody renews its lease.
    await scene.truth.claim({
      sources: [{ space: 'default', queue: 'stuck', limit: 1 }],
      limit: 1,
      workerId: 'dead',
      token: scene.runtime.uuid(),
      leaseMs: 1_000,
    })
    other.worker([stuck.handle(() => {})])
    await scene.until(async () => (await scene.state(id)) === 'dead')

    expect(await scene.skep.jobs.attempts(id)).toMatchObject([{ n: 1, kind: 'lost' }])
  })

  it('tell of a transaction that was rolled back, and of nothing when one committed and the handler threw later', async () => {
    const scene = openScene({ wrap: withTransactions })
    const pay = queue<'commit' | 'roll back', string>('pay', { onError: retry(0, fixed(0)) })
    scene.skep.worker([
      pay.handle(async ({ payload, complete, log }) => {
        log('paying')
        const tx = new FakeTransaction()
        await complete('paid', { tx })
        if (payload === 'roll back') tx.rollBack()
        else await tx.commit()
        throw new Error(`after ${payload}`)
      }),
    ])
    const committed = await scene.skep.enqueue(pay, 'commit')
    const lost = await scene.skep.enqueue(pay, 'roll back')
    await scene.until(async () => (await scene.state(lost.id)) === 'dead')
    await scene.until(async () => (await scene.state(committed.id)) === 'done')
    await scene.advance(1_000)

    expect(await scene.skep.jobs.attempts(committed.id)).toEqual([])
    expect(await scene.skep.jobs.attempts(lost.id)).toMatchObject([
      { n: 1, kind: 'error', message: 'after roll back' },
    ])
    expect((await scene.skep.jobs.logs(lost.id)).lines.map(({ message }) => message)).toEqual([
      'paying',
      'after roll back',
    ])
  })
})

describe('the line of an attempt', () => {
  it.each([
    ['long', 'at x (file.ts:1:1)\n'.repeat(2_000)],
    ['full of quotation marks', '"\\\n'.repeat(3_000)],
    ['one long line', 'x'.repeat(20_000)],
    ['not in ASCII', '\u{1F41D} é\n'.repeat(2_000)],
    ['short', 'at x'],
  ])('keeps within its bounds when the stack is %s', (_what, stack) => {
    for (const message of ['short', 'm'.repeat(4_096), '"'.repeat(4_096)]) {
      const line = attemptLine(
        { starts: 2, generation: 1 },
        { kind: 'error', name: 'E'.repeat(128), code: 'C', message, stack },
        'dead',
      )

      expect(line).not.toBeNull()
      expect(lineBytes(line ?? { text: '', fields: null })).toBeLessThanOrEqual(LIMITS.noteLineBytes)
      expect(readAttempt(line?.fields ?? null)).toMatchObject({ attempt: 2, generation: 1, kind: 'error' })
    }
  })

  it('is not made of a snooze, and lines of handlers are not taken for one', () => {
    expect(
      attemptLine({ starts: 1, generation: 0 }, { kind: 'snooze', message: 'later' }, 'delayed'),
    ).toBeNull()
    expect(readAttempt('{"skep":{"attempt":"x","kind":"error"}}')).toBeNull()
    expect(readAttempt('{"skep":{"attempt":1,"kind":"party"}}')).toBeNull()
    expect(readAttempt('{"skep":{"attempt":1')).toBeNull()
    expect(readAttempt('{"user":1}')).toBeNull()
    expect(readAttempt(null)).toBeNull()
  })
})
