import type { DeadNotice, Notices } from '../../notifier/notices.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import { type Runtime, sleep, systemRuntime } from '../../runtime/runtime.ts'

const PATIENCE_MS = 20_000

export type NoticeNotifier = Notifier & { readonly notices: Notices }

/** What the cases about notices share. */
export interface NoticeScene {
  test(sentence: string, body: (notifier: NoticeNotifier) => Promise<void>): unknown
  readonly heldMs: number
  readonly reopen: ((notifier: Notifier) => Promise<Notifier>) | undefined
  readonly runtime: Runtime
}

export function withNotices(notifier: Notifier): NoticeNotifier {
  if (!notifier.notices) throw new Error('This notifier has no notices.')
  return notifier as NoticeNotifier
}

/** Waits until so many are buried. */
export async function buried({ notices }: NoticeNotifier, count: number): Promise<readonly DeadNotice[]> {
  let dead: readonly DeadNotice[] = []
  await ticking(async () => {
    dead = (await notices.dead({ limit: 100 })).notices
    return dead.length >= count
  })
  return dead
}

/** Asks again and again: for what gives no signal of its own. */
export async function ticking(condition: () => boolean | Promise<boolean>): Promise<void> {
  const runtime = systemRuntime()
  const deadline = runtime.mono() + PATIENCE_MS
  while (!(await condition())) {
    if (runtime.mono() > deadline) throw new Error(`Waited ${PATIENCE_MS} ms in vain.`)
    await sleep(runtime, 10)
  }
}
