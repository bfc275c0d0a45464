import { describe, expect, it } from 'vitest'
import { bury, cancel, fixed, queue, retry, snooze } from '../../src/index.ts'
import { aborted, codeOf, gate, openScene } from './support/scene.ts'

const parent = queue<number, unknown>('parent', { onError: retry(5, fixed('1h')), timeout: '10s' })
const child = queue<number>('child')

describe('jobs a handler enqueues through its context', () => {
  it('are saved together with its success, and run at once', async () => {
    const scene = openScene()
    const seen: number[] = []
    const work = gate()
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        await context.enqueue(child, 1)
        await context.enqueue(child, 2, { priority: 5 })
        await context.enqueue(child, 3, { delay: '1h' })
        await work.promise
      }),
      child.handle(({ payload }) => void seen.push(payload)),
    ])
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    await scene.advance(1_000)
    expect(await scene.counts('child')).toEqual({})
    const before = scene.runtime.mono()

    work.open()
    await scene.runtime.settle()

    expect(seen).toEqual([2, 1])
    expect(scene.runtime.mono()).toBe(before)
    expect(await scene.counts('child')).toEqual({ done: 2, delayed: 1 })
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['snoozes', () => snooze('1h')],
    ['cancels', () => cancel('no')],
    ['buries', () => bury('no')],
    ['returns what cannot be stored', () => 1n],
  ])('never exist when it %s', async (_name, end) => {
    const scene = openScene()
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        await context.enqueue(child, 1)
        return end()
      }),
    ])

    await scene.until(async () => !['ready', 'running'].includes(await scene.state(job.id)))

    expect(await scene.counts('child')).toEqual({})
  })

  it('never exist when it ran out of time or lost its lease', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        await context.enqueue(child, 1)
        await aborted(context.signal)
      }),
    ])

    await scene.until(async () => (await scene.state(job.id)) === 'delayed')

    expect(await scene.counts('child')).toEqual({})
  })

  it('exist once, also when the answer to the settlement was lost', async () => {
    const scene = openScene()
    scene.faults.next('settle', 'after', 'lost', 'after')
    const seen: number[] = []
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        await context.enqueue(child, 1)
      }),
      child.handle(({ payload }) => void seen.push(payload)),
    ])

    await scene.through(job.result())
    await scene.advance(30_000)

    expect(seen).toEqual([1])
  })

  it('that are not valid fail at the call, and the handler may go on without them', async () => {
    const scene = openScene()
    let code = ''
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        code = await codeOf(context.enqueue(child, 1n as unknown as number))
        return 'fine'
      }),
    ])

    expect(await scene.through(job.result())).toBe('fine')
    expect(code).toBe('PAYLOAD_NOT_JSON')
  })

  it('are refused once the run is over: a promise that was not awaited saves nothing in secret', async () => {
    const scene = openScene()
    const late = gate()
    const codes: string[] = []
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle((context) => {
        void late.promise.then(async () => codes.push(await codeOf(context.enqueue(child, 1))))
        return 'early'
      }),
    ])
    await scene.through(job.result())

    late.open()
    await scene.runtime.settle()

    expect(codes).toEqual(['LEASE_LOST'])
    expect(await scene.counts('child')).toEqual({})
  })

  it('obey unique keys as any enqueue does', async () => {
    const scene = openScene()
    await scene.skep.enqueue(child, 0, { unique: 'one', delay: '1h' })
    const job = await scene.skep.enqueue(parent, 1)
    scene.skep.worker([
      parent.handle(async (context) => {
        await context.enqueue(child, 1, { unique: 'one' })
        await context.enqueue(child, 2, { unique: 'two', delay: '1h' })
      }),
    ])

    await scene.through(job.result())

    expect(await scene.counts('child')).toEqual({ delayed: 2 })
  })
})
