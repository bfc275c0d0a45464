// The spaces of a store, in the program, over HTTP and on every store.
import { describe, expect, it, onTestFinished } from 'vitest'
import { queue } from '../../src/index.ts'
import { openStage, STORES, until } from '../threads/support.ts'
import { startServer } from './support.ts'

const mail = queue<number>('mail')
const report = queue<number>('report')
const SECRET = (name: string): string => `token-of-${name}-that-nobody-guesses-0123`

describe.each(STORES)('skep.spaces() on %s', (store) => {
  it('lists the spaces that have jobs, with how many, whichever space asks', async () => {
    const { skep } = await openStage(store)
    const acme = skep.inSpace('acme')
    const idle = skep.inSpace('idle')
    onTestFinished(async () => {
      await acme.close()
      await idle.close()
    })
    expect(await idle.spaces()).toEqual([])

    await skep.enqueueMany(mail, [1, 2])
    await skep.enqueue(report, 3, { delay: '1h' })
    const [done] = await acme.enqueueMany(report, [4])
    const worker = acme.worker([report.handle(() => {})])
    await until(async () => (await done?.get())?.state === 'done')
    await worker.stop()

    const none = { running: 0, finished: 0, dead: 0 }
    const all = [
      { space: 'acme', queues: 1, waiting: 0, ...none, finished: 1 },
      { space: skep.space, queues: 2, waiting: 3, ...none },
    ]
    for (const asked of [skep, acme, idle]) expect(await asked.spaces()).toEqual(all)
    await acme.jobs.remove(done?.id as string)
    expect(await skep.spaces()).toEqual([all[1]])
  })
})

describe('spaces.list of a server', () => {
  it('shows an admin all spaces, and one of a single space its own alone', async () => {
    const tokens = [
      { name: 'root', token: SECRET('root'), scopes: ['admin'], space: '*' },
      { name: 'acme', token: SECRET('acme'), scopes: ['admin'], space: 'acme' },
      { name: 'clerk', token: SECRET('clerk'), scopes: ['operate'], space: '*' },
    ] as const
    const { skep, call } = await startServer({ tokens })
    const acme = skep.inSpace('acme')
    onTestFinished(() => acme.close())
    await skep.enqueue(mail, 1)
    await acme.enqueue(mail, 1)
    const list = async (name: string): Promise<string[]> => {
      const { spaces } = await call('spaces.list', {}, { authorization: `Bearer ${SECRET(name)}` })
      return spaces.map(({ space }) => space)
    }

    expect(await list('root')).toEqual(['acme', 'default'])
    expect(await list('acme')).toEqual(['acme'])
    await expect(list('clerk')).rejects.toMatchObject({ status: 403 })
  })
})
