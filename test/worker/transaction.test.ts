import { describe, expect, it } from 'vitest'
import { discard, fixed, type JobContext, queue, retry } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from './support/scene.ts'
import { FakeTransaction, withTransactions } from './support/transactions.ts'

const pay = queue<number, string>('pay', { onError: retry(3, fixed('1h')) })
const spool = queue<number, string>('spool', { onSuccess: discard(), onError: retry(3, fixed('1h')) })
const next = queue<number>('next')

/** A ledger that changes only when a transaction commits. */
class Ledger {
  readonly entries: number[] = []

  note(tx: FakeTransaction, entry: number): void {
    tx.add(async () => void this.entries.push(entry))
  }
}

async function waitForEnd(scene: Scene, id: string): Promise<void> {
  await scene.until(async () => !['ready', 'running'].includes(await scene.state(id)))
  await scene.runtime.settle()
}

describe("complete in the handler's own transaction", () => {
  it('saves the effect and the success together, exactly once', async () => {
    const scene = openScene({ wrap: withTransactions })
    const ledger = new Ledger()
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        const tx = new FakeTransaction()
        ledger.note(tx, context.payload)
        await context.complete('paid', { tx })
        await tx.commit()
        return 'ignored'
      }),
    ])

    expect(await scene.through(job.result())).toBe('paid')
    await scene.runtime.settle()
    expect(ledger.entries).toEqual([5])
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', starts: 1, errors: 0 })
    expect(scene.toldOf(job.id)).toEqual(['received', 'finished'])
  })

  it('whose transaction was rolled back is an error: there is no effect, and the job is tried again', async () => {
    const scene = openScene({ wrap: withTransactions })
    const ledger = new Ledger()
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        const tx = new FakeTransaction()
        ledger.note(tx, context.payload)
        await context.complete('paid', { tx })
        tx.rollBack()
        return 'looks fine'
      }),
    ])

    await waitForEnd(scene, job.id)

    expect(ledger.entries).toEqual([])
    expect(await scene.job(job.id)).toMatchObject({ state: 'delayed', errors: 1, result: null })
    expect(JSON.parse((await scene.job(job.id)).failure as string)).toMatchObject({ code: 'TX_ROLLED_BACK' })
    expect(scene.toldOf(job.id)).toEqual(['received', 'error'])
  })

  it('that committed stays a success, also when the handler throws afterwards', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        const tx = new FakeTransaction()
        await context.complete('paid', { tx })
        await tx.commit()
        throw new Error('while tidying up')
      }),
    ])

    expect(await scene.through(job.result())).toBe('paid')
    await scene.runtime.settle()
    expect(scene.toldOf(job.id)).toEqual(['received', 'finished'])
  })

  it('that committed stays a success when the handler then runs out of time', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(pay, 5, { timeout: '1s' })
    const worker = scene.skep.worker([
      pay.handle(async (context) => {
        const tx = new FakeTransaction()
        await context.complete('paid', { tx })
        await tx.commit()
        return new Promise<string>(() => {})
      }),
    ])

    await scene.until(() => worker.health().zombies === 1)
    await scene.runtime.settle()

    expect(await scene.job(job.id)).toMatchObject({ state: 'done', timeouts: 0 })
  })

  it('of a queue that discards is told as finished, and nothing runs again', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(spool, 5)
    scene.skep.worker([
      spool.handle(async (context) => {
        const tx = new FakeTransaction()
        await context.complete('paid', { tx })
        await tx.commit()
        return ''
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'absent')
    await scene.advance(60_000)

    expect(scene.toldOf(job.id)).toEqual(['received', 'finished'])
  })

  it('of a queue that discards, rolled back, is an error all the same', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(spool, 5)
    scene.skep.worker([
      spool.handle(async (context) => {
        const tx = new FakeTransaction()
        await context.complete('paid', { tx })
        tx.rollBack()
        return ''
      }),
    ])

    await waitForEnd(scene, job.id)

    expect(await scene.job(job.id)).toMatchObject({ state: 'delayed', errors: 1 })
    expect(scene.toldOf(job.id)).toEqual(['received', 'error'])
  })

  it('throws when the lease is lost, so that the caller rolls back', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(pay, 5)
    const lost = gate()
    let code = ''
    const handler = pay.handle(async (context) => {
      await lost.promise
      const tx = new FakeTransaction()
      code = await codeOf(context.complete('paid', { tx }))
      tx.rollBack()
      return ''
    })
    scene.skep.worker([handler])
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    const { token } = await scene.job(job.id)
    await scene.truth.extend({
      leases: [{ space: 'default', id: job.id, token: token as string }],
      leaseMs: -1,
    })
    // Another worker, in another process, takes it over.
    let seen = 0
    scene.client(scene.truth).worker([pay.handle(() => String(++seen))])
    await scene.until(async () => (await scene.state(job.id)) === 'done')

    lost.open()
    await scene.until(() => code !== '')

    expect(code).toBe('LEASE_LOST')
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', result: '"1"' })
  })

  it('refuses a result that cannot be stored, before anything is written', async () => {
    const scene = openScene({ wrap: withTransactions })
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        const tx = new FakeTransaction()
        await context.complete((() => 1) as unknown as string, { tx })
        return ''
      }),
    ])

    await waitForEnd(scene, job.id)

    expect(JSON.parse((await scene.job(job.id)).failure as string)).toMatchObject({
      code: 'PAYLOAD_NOT_JSON',
    })
  })

  it('commits the jobs the handler enqueued before it, and refuses those that come after it', async () => {
    const scene = openScene({ wrap: withTransactions })
    const codes: string[] = []
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        await context.enqueue(next, 1)
        const tx = new FakeTransaction()
        await context.complete('paid', { tx })
        codes.push(await codeOf(context.enqueue(next, 2)))
        await tx.commit()
        return ''
      }),
    ])

    await scene.through(job.result())

    expect(codes).toEqual(['LEASE_LOST'])
    expect(await scene.counts('next')).toEqual({ ready: 1 })
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['something else', { begin: true }],
  ])('refuses %s as a transaction', async (_name, tx) => {
    const scene = openScene({ wrap: withTransactions })
    let code = ''
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context: JobContext<number, string>) => {
        code = await codeOf(context.complete('paid', { tx }))
        return 'fine'
      }),
    ])

    await scene.through(job.result())

    expect(code).toBe('TX_UNSUPPORTED')
  })

  it('is refused by a store that has no transactions', async () => {
    const scene = openScene()
    let code = ''
    const job = await scene.skep.enqueue(pay, 5)
    scene.skep.worker([
      pay.handle(async (context) => {
        code = await codeOf(context.complete('paid', { tx: new FakeTransaction() }))
        return 'fine'
      }),
    ])

    await scene.through(job.result())

    expect(code).toBe('TX_UNSUPPORTED')
    expect(await codeOf(scene.skep.enqueue(pay, 1, { tx: new FakeTransaction() }))).toBe('TX_UNSUPPORTED')
  })
})

describe("an enqueue in the caller's own transaction", () => {
  it('is there when that commits, and a worker finds it soon', async () => {
    const scene = openScene({ wrap: withTransactions })
    const seen: number[] = []
    scene.skep.worker([next.handle(({ payload }) => void seen.push(payload))])
    await scene.advance(100)
    const tx = new FakeTransaction()

    const job = await scene.skep.enqueue(next, 7, { tx })
    await scene.advance(100)
    expect(await scene.state(job.id)).toBe('absent')
    await tx.commit()

    await scene.until(() => seen.length === 1, 1_000)
    expect(seen).toEqual([7])
  })

  it('never was when that rolls back', async () => {
    const scene = openScene({ wrap: withTransactions })
    const tx = new FakeTransaction()

    const [first] = await scene.skep.enqueueMany(next, [1, 2, 3], { tx })
    tx.rollBack()
    await scene.advance(10_000)

    expect(await scene.state(first!.id)).toBe('absent')
    expect(await scene.counts('next')).toEqual({})
  })
})
