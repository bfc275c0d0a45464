import { describe, expect, it } from 'vitest'
import { fingerprintOf, fixed, never, queue, retry, type Skep } from '../../src/index.ts'
import { GROUPS_PER_FLUSH } from '../../src/metrics/error-groups.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<string>('mail', { onError: retry(1, fixed(0)) })
const sms = queue<string>('sms', { onError: never() })

/** Handlers that fail with their payload as the message. */
function failing(scene: Scene, skep: Skep = scene.skep): void {
  const fail = ({ payload }: { readonly payload: string }): never => {
    throw new Error(payload)
  }
  skep.worker([mail.handle(fail), sms.handle(fail)])
}

async function settled(scene: Scene): Promise<void> {
  await scene.until(async () => {
    const queues = await scene.skep.queues.list()
    return queues.every(({ ready, running, delayed }) => ready + running + delayed === 0)
  })
}

describe('error groups', () => {
  it('put errors that are alike together, with how often and where', async () => {
    const scene = openScene()
    failing(scene)
    await scene.skep.enqueueMany(mail, ['User 1 is gone', 'User 22 is gone', 'User 333 is gone'])
    await scene.skep.enqueue(sms, 'User 1 is gone')
    await settled(scene)

    const { groups, cursor } = await scene.skep.errors.list()

    expect(cursor).toBeNull()
    expect(groups).toHaveLength(2)
    const group = groups.find((one) => one.queue === 'mail')
    expect(group).toMatchObject({ name: 'Error', count: 6, dead: 3, muted: null })
    expect(group?.message).toMatch(/^User \d+ is gone$/)
    expect(group?.sampleStack).toMatch(/Error: User/)
    expect(group?.spark).toHaveLength(24)
    expect(group?.spark.at(-1)).toBe(6)
    const job = await scene.skep.jobs.get(group?.sampleJob as string)
    expect(job?.queue).toBe('mail')
    expect(fingerprintOf('mail', job?.failure as never)).toBe(group?.id)
    expect(await scene.skep.errors.get(group?.id as string)).toEqual(group)
  })

  it('say on which versions of the program they happened, and since which', async () => {
    const scene = openScene()
    const bad = (): never => {
      throw new Error('Card declined')
    }
    const old = scene.skep.worker([mail.handle(bad)], { version: '1.0' })
    await scene.skep.enqueueMany(mail, ['a', 'b'])
    await settled(scene)
    await old.stop()
    await scene.advance(15_000)
    scene.skep.worker([mail.handle(bad)], { version: '1.1' })
    await scene.skep.enqueueMany(mail, ['c', 'd', 'e'])
    await settled(scene)
    await scene.advance(15_000)

    const { groups } = await scene.skep.errors.list()

    expect(groups).toHaveLength(1)
    const [group] = groups
    expect(group?.versions.map(({ version, count }) => [version, count])).toEqual([
      ['1.1', 6],
      ['1.0', 4],
    ])
    expect(group?.versions[1]?.firstAt).toEqual(group?.firstAt)
    expect(group?.versions[0]?.lastAt).toEqual(group?.lastAt)
  })

  it('of several processes are added up', async () => {
    const scene = openScene()
    const others = [scene.skep, scene.client(), scene.client()]
    for (const skep of others) failing(scene, skep)
    await scene.skep.enqueueMany(
      sms,
      Array.from({ length: 60 }, (_, i) => `No ${i}`),
    )
    await settled(scene)
    await scene.advance(15_000)

    const { groups } = await scene.skep.errors.list({ queue: 'sms' })

    expect(groups).toHaveLength(1)
    expect(groups[0]).toMatchObject({ count: 60, dead: 60 })
  })

  it('are seen by another process within a second, also when one of another group has just happened', async () => {
    const scene = openScene()
    failing(scene)
    const other = scene.client()
    const messages = async (): Promise<string[]> =>
      (await other.errors.list()).groups.map(({ message }) => message).sort()
    // What is written by the clock is written at whole multiples of five seconds.
    await scene.advance(5_100 - (scene.runtime.now() % 5_000))

    await scene.skep.enqueue(sms, 'one')
    await scene.advance(1_000)
    const first = await messages()
    await scene.skep.enqueue(sms, 'two')
    await scene.advance(1_000)

    expect([first, await messages()]).toEqual([['one'], ['one', 'two']])
  })

  it('of one group that fails all the time are written every few seconds only', async () => {
    const scene = openScene()
    let writes = 0
    const store = scene.faults.store
    const counted: typeof store = {
      ...store,
      putRecords: (call) => {
        if (call.kind === 'error') writes++
        return store.putRecords(call)
      },
    }
    const skep = scene.client(counted)
    failing(scene, skep)

    for (let i = 0; i < 100; i++) {
      await skep.enqueue(sms, 'no')
      await scene.advance(200)
    }

    // In 20 s: one for the news, and one for each five seconds.
    expect(writes).toBeGreaterThanOrEqual(4)
    expect(writes).toBeLessThanOrEqual(6)
    expect((await skep.errors.list()).groups).toMatchObject([{ count: 100 }])
  })

  it('are written with the next ones when a write at once fails', async () => {
    const scene = openScene()
    failing(scene)
    const other = scene.client()
    await scene.advance(5_100 - (scene.runtime.now() % 5_000))
    scene.faults.next('getRecords', 'before')

    await scene.skep.enqueue(sms, 'no')
    await scene.advance(1_000)
    const before = (await other.errors.list()).groups
    await scene.advance(5_000)

    expect([before, (await other.errors.list()).groups]).toMatchObject([[], [{ count: 1 }]])
  })

  it('are counted once, also when the answer of a write is lost', async () => {
    const scene = openScene()
    failing(scene)
    await scene.skep.enqueue(sms, 'no')
    await settled(scene)
    scene.faults.next('putRecords', 'after', 'after', 'after')
    await scene.advance(30_000)

    expect((await scene.skep.errors.list()).groups).toMatchObject([{ count: 1 }])
  })

  it('are not lost while the store cannot write them', async () => {
    const scene = openScene()
    failing(scene)
    scene.faults.break('before', ['putRecords', 'getRecords'])
    await scene.skep.enqueueMany(sms, ['no', 'no'])
    await settled(scene)
    await scene.advance(30_000)
    scene.faults.heal()
    await scene.skep.enqueue(sms, 'no')
    await settled(scene)
    await scene.advance(15_000)

    expect((await scene.skep.errors.list()).groups).toMatchObject([{ count: 3 }])
  })

  it('are listed with the newest first, page by page', async () => {
    const scene = openScene()
    failing(scene)
    for (const word of ['one', 'two', 'three', 'four', 'five']) {
      await scene.skep.enqueue(sms, word)
      await settled(scene)
      await scene.advance(7_000)
    }

    const seen: string[] = []
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const page = await scene.skep.errors.list({ limit: 2, ...(cursor ? { cursor } : {}) })
      seen.push(...page.groups.map(({ message }) => message))
      cursor = page.cursor
    }

    expect(seen).toEqual(['five', 'four', 'three', 'two', 'one'])
  })

  it('can be muted for a while, through all that happens meanwhile', async () => {
    const scene = openScene()
    failing(scene)
    await scene.skep.enqueueMany(sms, ['known', 'new'])
    await settled(scene)
    const { groups } = await scene.skep.errors.list()
    const { id } = groups.find(({ message }) => message === 'known') as { id: string }

    const muted = await scene.skep.errors.mute(id, { by: 'ann', for: '1h' })
    expect(muted?.muted).toEqual({ by: 'ann', until: new Date(scene.runtime.now() + 3_600_000) })
    await scene.skep.enqueue(sms, 'known')
    await settled(scene)
    await scene.advance(60_000)

    const messages = async (which: boolean): Promise<string[]> =>
      (await scene.skep.errors.list({ muted: which })).groups.map(({ message }) => message)
    expect((await scene.skep.errors.get(id))?.count).toBe(2)
    expect([await messages(true), await messages(false)]).toEqual([['known'], ['new']])
    expect((await scene.skep.errors.unmute(id))?.muted).toBeNull()
    expect(await messages(true)).toEqual([])
    await scene.skep.errors.mute(id, { for: '1h' })
    await scene.advance(3_700_000)
    expect(await messages(true)).toEqual([])
  })

  it('are bounded: what has too many kinds is counted together', async () => {
    const scene = openScene()
    failing(scene)
    const kinds = GROUPS_PER_FLUSH + 50
    const word = (i: number): string =>
      String(i)
        .split('')
        .map((digit) => 'abcdefghij'[Number(digit)])
        .join('')
    await scene.skep.enqueueMany(
      sms,
      Array.from({ length: kinds }, (_, i) => `Kind ${word(i)}`),
    )
    await settled(scene)

    const all: { readonly name: string; readonly count: number }[] = []
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const page = await scene.skep.errors.list({ limit: 200, ...(cursor ? { cursor } : {}) })
      all.push(...page.groups)
      cursor = page.cursor
    }

    expect(all.length).toBe(GROUPS_PER_FLUSH + 1)
    expect(all.find(({ name }) => name === '(other)')?.count).toBe(50)
  })

  it('go two weeks after the last of their errors', async () => {
    const scene = openScene()
    failing(scene)
    await scene.skep.enqueue(sms, 'no')
    await settled(scene)
    expect((await scene.skep.errors.list()).groups).toHaveLength(1)

    scene.runtime.jump(15 * 86_400_000)

    expect((await scene.skep.errors.list()).groups).toEqual([])
  })

  it('are not kept without a history', async () => {
    const scene = openScene({ history: false })
    failing(scene)
    await scene.skep.enqueue(sms, 'no')
    await settled(scene)
    await scene.advance(15_000)

    expect((await scene.skep.errors.list()).groups).toEqual([])
  })

  it('refuse what is no id, no cursor and no limit, and know nothing of others', async () => {
    const { skep } = openScene()

    expect(await codeOf(skep.errors.get('x'))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.errors.list({ cursor: 'x' }))).toBe('OPTION_INVALID')
    expect(await codeOf(skep.errors.list({ limit: 201 }))).toBe('OPTION_INVALID')
    expect(await skep.errors.get('0123456789abcdef')).toBeNull()
    expect(await skep.errors.mute('0123456789abcdef')).toBeNull()
  })
})
