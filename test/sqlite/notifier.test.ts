import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Hint, Notifier } from '../../src/notifier/notifier.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { Peers } from '../../src/notifiers/local/peers.ts'
import { sleep } from '../../src/runtime/runtime.ts'
import { virtualRuntime } from '../../src/testing.ts'
import { freshFile, freshFolder, later, messageFrom, openStore, runtime, start } from './support.ts'

function open(folder: string | null): Notifier {
  const notifier = localNotifier({ runtime, folder })
  later(() => notifier.close())
  return notifier
}

/** Collects hints; `next` waits for the next one that is no sync. */
function listen(notifier: Notifier): { heard: Hint[]; next: () => Promise<Hint> } {
  const heard: Hint[] = []
  let wake = (): void => {}
  let read = 0
  notifier.subscribe((hints) => {
    heard.push(...hints)
    wake()
  })
  const next = async (): Promise<Hint> => {
    for (;;) {
      while (read < heard.length) {
        const hint = heard[read++] as Hint
        if (hint.kind !== 'sync') return hint
      }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { heard, next }
}

const hint: Hint = { kind: 'work', space: 'acme', queue: 'mail', dueAt: 1, rank: 1 }

describe('Hints between processes', () => {
  it('arrive within milliseconds', async () => {
    const folder = freshFolder()
    const ear = listen(open(folder))
    const publisher = start('publish', folder)
    await messageFrom(publisher)

    const delays: number[] = []
    for (let n = 0; n < 200; n++) {
      publisher.send('publish')
      const heard = (await ear.next()) as Hint & { kind: 'work' }
      delays.push(performance.timeOrigin + performance.now() - heard.dueAt)
      await sleep(runtime, runtime.random() * 4)
    }

    const sorted = delays.toSorted((a, b) => a - b)
    const [p10, p50, p99] = [sorted[20], sorted[100], sorted[198]] as [number, number, number]
    console.info(`hints between processes: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`)
    // On an idle machine p99 is below 5 ms. On a busy one some have to wait for a processor, and not all of them.
    expect(p10).toBeLessThan(20)
  })

  it('are found by looking when the folder cannot be watched', async () => {
    const folder = freshFolder()
    const heard: Hint[] = []
    const peers = new Peers({
      folder,
      runtime,
      own: 'me.hints',
      onHints: (hints) => heard.push(...hints),
      watch: () => {
        throw Object.assign(new Error('too many watches'), { code: 'ENOSPC' })
      },
    })
    later(() => peers.close())
    peers.open()

    open(folder).publish([hint])

    await expect.poll(() => heard).toEqual([hint])
    expect(peers.isWatching).toBe(false)
  })

  it('that a late reader has missed become a sync', async () => {
    const folder = freshFolder()
    const virtual = virtualRuntime({ seed: 1 })
    const notifier = localNotifier({ runtime: virtual, folder })
    const told: Hint[][] = []
    const peers = new Peers({
      folder,
      runtime: virtual,
      own: '',
      onHints: (hints) => told.push([...hints]),
      // Nobody tells it anything: it only looks when it is asked to.
      watch: () => ({ on: () => {}, close: () => {} }) as never,
    })
    const publish = async (): Promise<void> => {
      notifier.publish([hint])
      await virtual.advance(10)
    }
    await publish()
    peers.open()

    await publish()
    await publish()
    peers.refresh(0)
    for (let n = 0; n < 100; n++) await publish()
    peers.refresh(0)
    peers.refresh(0)

    expect(told).toEqual([[hint, hint], [{ kind: 'sync' }]])
    peers.close()
    await notifier.close()
  })

  it('stay in the process where the folder cannot be made, and do no harm', async () => {
    const file = join(freshFolder(), 'file')
    writeFileSync(file, '')
    const notifier = open(join(file, 'hints'))
    const ear = listen(notifier)

    notifier.publish([hint])

    expect(await ear.next()).toEqual(hint)
    expect(notifier.health()).toMatchObject({ status: 'down' })
  })

  it('go on after somebody has removed the files', async () => {
    const folder = freshFolder()
    const virtual = virtualRuntime({ seed: 1 })
    const notifier = localNotifier({ runtime: virtual, folder })
    listen(notifier)
    await virtual.settle()
    const names = readdirSync(folder)
    rmSync(folder, { recursive: true })

    await virtual.advance(11_000)

    expect(names).toHaveLength(2)
    expect(readdirSync(folder)).toEqual(names)
    await notifier.close()
  })

  it('leave no files behind: what nobody touches is cleared away', async () => {
    const folder = freshFolder()
    const old = join(folder, '999999-abc.hints')
    const strange = join(folder, 'notes.txt')
    for (const file of [old, strange]) {
      writeFileSync(file, '')
      utimesSync(file, 1_000_000, 1_000_000)
    }
    const ear = listen(open(folder))

    await expect.poll(() => ear.heard.length).toBe(1)

    expect([existsSync(old), existsSync(strange)]).toEqual([false, true])
  })

  it('leave no files behind where everybody sends and nobody listens', async () => {
    const folder = freshFolder()
    const old = join(folder, '999999-abc.hints')
    writeFileSync(old, '')
    utimesSync(old, 1_000_000, 1_000_000)
    const notifier = open(folder)

    notifier.publish([hint])
    await notifier.close()

    expect(existsSync(old)).toBe(false)
  })

  it('are not written while nobody else listens, and heard by all who do', async () => {
    const folder = freshFolder()
    const virtual = virtualRuntime({ seed: 1 })
    const make = (): Notifier => localNotifier({ runtime: virtual, folder })
    const [sender, early, late] = [make(), make(), make()]
    const named = (suffix: string): string[] => readdirSync(folder).filter((name) => name.endsWith(suffix))
    const publish = async (): Promise<void> => {
      sender.publish([hint])
      await virtual.advance(10)
    }
    listen(sender)
    await virtual.settle()
    const [mailbox] = named('.hints') as [string]
    const before = readFileSync(join(folder, mailbox), 'utf8')
    await publish()
    const after = readFileSync(join(folder, mailbox), 'utf8')

    for (const listener of [early, late]) {
      const ear = listen(listener)
      await virtual.settle()
      await publish()
      await expect.poll(() => ear.heard).toEqual([{ kind: 'sync' }, hint])
    }

    expect(after).toBe(before)
    expect(named('.listens')).toHaveLength(3)
    await Promise.all([sender, early, late].map((notifier) => notifier.close()))
    expect(named('.listens')).toEqual([])
  })

  it('that were dropped because a listener was taken for gone become a sync', async () => {
    const folder = freshFolder()
    const virtual = virtualRuntime({ seed: 1 })
    const notifier = localNotifier({ runtime: virtual, folder })
    const ear = listen(notifier)
    await virtual.settle()
    for (const name of readdirSync(folder)) rmSync(join(folder, name))

    await virtual.advance(11_000)

    expect(ear.heard).toEqual([{ kind: 'sync' }, { kind: 'sync' }])
    await notifier.close()
  })

  it('do not keep a process alive', async () => {
    const notifier = open(freshFolder())
    listen(notifier)
    await sleep(runtime, 20)

    expect(process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap')).toEqual([])
  })
})

describe("A SQLite store's notifier", () => {
  it('is one, leaves hints beside the file, and is closed with the store', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const notifier = store.notifier?.() as Notifier
    listen(notifier)
    await expect.poll(() => existsSync(`${file}-hints`)).toBe(true)

    const isThere = statSync(`${file}-hints`).isDirectory()
    await store.close()

    expect(store.notifier?.()).toBe(notifier)
    expect(isThere).toBe(true)
    expect(notifier.health().status).toBe('down')
  })

  it('stays in the process for a database in memory', () => {
    const store = openStore({ file: ':memory:' })

    expect(store.notifier?.().health()).toEqual({ status: 'up', detail: 'inside this process' })
  })
})
