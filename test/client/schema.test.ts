import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { never, queue, retry, type SkepError } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

const report = queue('report', {
  payload: z.object({ day: z.string().transform((text) => new Date(text)), copies: z.number().default(1) }),
  onError: retry(5),
})

async function insertRaw(
  scene: Scene,
  name: string,
  payload: string,
  headers: string | null = null,
): Promise<string> {
  const id = scene.runtime.uuid()
  const rest = {
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
  await scene.truth.insert({ jobs: [{ id, space: 'default', queue: name, payload, headers, ...rest }] })
  return id
}

describe('a schema of the payload', () => {
  it('checks what is enqueued, and names what is wrong', async () => {
    const scene = openScene()

    const error = (await scene.skep
      .enqueue(report, { day: 7 as unknown as string })
      .catch((thrown: unknown) => thrown)) as SkepError

    expect(error.code).toBe('PAYLOAD_INVALID')
    expect(error.message).toContain('day: ')
    expect(scene.faults.count('insert')).toBe(0)
  })

  it('stores what was given and gives the handler what it makes of it', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(report, { day: '2026-11-15' })
    let seen: unknown
    scene.skep.worker([
      report.handle(({ payload }) => {
        seen = payload
      }),
    ])

    await scene.through(job.result())

    expect((await job.get())?.payload).toEqual({ day: '2026-11-15' })
    expect(seen).toEqual({ day: new Date('2026-11-15'), copies: 1 })
  })

  it('may take its time, at both ends', async () => {
    const scene = openScene()
    const check = gate<boolean>()
    const slow = queue('slow', { payload: z.number().refine(() => check.promise) })
    const enqueued = scene.skep.enqueue(slow, 1)
    await scene.runtime.settle()
    expect(scene.faults.count('insert')).toBe(0)

    check.open(true)
    const job = await scene.through(enqueued)
    scene.skep.worker([slow.handle(({ payload }) => payload + 1)])

    expect(await scene.through(job.result())).toBe(2)
  })

  it('of another library works the same way', async () => {
    const scene = openScene()
    const sized = queue('sized', { payload: v.object({ size: v.pipe(v.string(), v.transform(Number)) }) })
    scene.skep.worker([sized.handle(({ payload }) => payload.size * 2)])

    const job = await scene.skep.enqueue(sized, { size: '21' })

    expect(await scene.through(job.result())).toBe(42)
    expect(await codeOf(scene.skep.enqueue(sized, { size: 1 as unknown as string }))).toBe('PAYLOAD_INVALID')
  })

  it('that is none is refused when the queue is declared', () => {
    expect(() => queue('wrong', { payload: { parse: () => 1 } as never })).toThrow(/Standard Schema/)
  })
})

describe('a stored payload that does not fit', () => {
  it.each<[string, string, string]>([
    ['is not JSON', '{"day": "2026', 'PAYLOAD_UNREADABLE'],
    ['is empty', '', 'PAYLOAD_UNREADABLE'],
    ['does not fit the schema', '{"day": 7}', 'PAYLOAD_INVALID'],
    ['is null', 'null', 'PAYLOAD_INVALID'],
  ])(
    'because it %s is buried at once with its raw text, and its handler is not called',
    async (_name, raw, code) => {
      const scene = openScene()
      const id = await insertRaw(scene, 'report', raw)
      const good = await scene.skep.enqueue(report, { day: '2026-11-15' })
      let calls = 0
      scene.skep.worker([report.handle(() => void calls++)])

      await scene.through(good.result())
      await scene.until(async () => (await scene.state(id)) === 'dead')

      expect(calls).toBe(1)
      expect(await scene.job(id)).toMatchObject({ payload: raw, errors: 0, starts: 1 })
      expect(JSON.parse((await scene.job(id)).failure as string)).toMatchObject({ kind: 'poison', code })
      expect(scene.toldOf(id)).toEqual(['received', 'error', 'dead'])
    },
  )

  it('can be retried when a handler that understands it is there', async () => {
    const scene = openScene()
    const id = await insertRaw(scene, 'report', '{"day": 7}')
    const old = scene.skep.worker([report.handle(() => {})])
    await scene.until(async () => (await scene.state(id)) === 'dead')
    await scene.through(old.stop())

    const newer = queue('report', { payload: z.object({ day: z.union([z.string(), z.number()]) }) })
    scene.skep.worker([newer.handle(({ payload }) => payload.day)])
    await scene.skep.jobs.retry(id)

    expect(await scene.through(scene.skep.jobs.handle(id).result())).toBe(7)
  })

  it('is an error, not poison, when the schema itself breaks: tomorrow it may work', async () => {
    const scene = openScene()
    let isBroken = false
    const fragile = queue('fragile', {
      payload: z.number().transform((n) => {
        if (isBroken) throw new Error('the lookup table is not loaded')
        return n
      }),
      onError: retry(3),
    })
    const job = await scene.skep.enqueue(fragile, 1)
    isBroken = true
    scene.skep.worker([fragile.handle(({ payload }) => payload)])
    await scene.until(async () => (await scene.state(job.id)) === 'delayed')

    isBroken = false

    expect(await scene.through(job.result())).toBe(1)
  })
})

describe('a schema of the result', () => {
  it('makes a result that does not fit an error of the run', async () => {
    const scene = openScene()
    const strict = queue('strict', {
      payload: z.number(),
      result: z.object({ ok: z.boolean() }),
      onError: never(),
    })
    const [good, bad] = await scene.skep.enqueueMany(strict, [1, 2])
    scene.skep.worker([
      strict.handle(({ payload }) =>
        payload === 1 ? { ok: true } : ({ ok: 'no' } as unknown as { ok: boolean }),
      ),
    ])

    expect(await scene.through(good!.result())).toEqual({ ok: true })
    const failed = bad!.result()
    failed.catch(() => {})
    await expect(scene.through(failed)).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(JSON.parse((await scene.job(bad!.id)).failure as string)).toMatchObject({
      kind: 'error',
      code: 'PAYLOAD_INVALID',
    })
  })
})
