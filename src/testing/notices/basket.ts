import type { Notice, Notices, NoticeTap } from '../../notifier/notices.ts'
import type { Hint } from '../../notifier/notifier.ts'
import { systemRuntime } from '../../runtime/runtime.ts'

const PATIENCE_MS = 20_000

/** The queue that the cases take notices from, if they do not say another. */
export const MAIL = { space: 'acme', queue: 'mail' } as const

/** A tap that remembers what comes out of it, and can be waited for. */
export class Basket {
  readonly notices: Notice[] = []
  readonly #tap: NoticeTap
  readonly #waiting = new Set<() => void>()

  constructor(
    notices: Notices,
    source: { readonly space: string; readonly queue: string } = MAIL,
    onNotice: (notice: Notice) => void = () => {},
  ) {
    this.#tap = notices.open(source, (notice) => {
      this.notices.push(notice)
      onNotice(notice)
      for (const check of this.#waiting) check()
    })
  }

  get ids(): string[] {
    return this.notices.flatMap(({ ids }) => ids)
  }

  want(count: number): this {
    this.#tap.want(count)
    return this
  }

  close(): void {
    this.#tap.close()
  }

  /** Waits until what came so far fulfils the condition. */
  until(condition: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = systemRuntime().timer(PATIENCE_MS, () => {
        this.#waiting.delete(check)
        const came = JSON.stringify(
          this.notices.map(({ ids, deliveries }) => [ids.length, deliveries]),
        ).slice(0, 500)
        reject(new Error(`Waited ${PATIENCE_MS} ms for ${what}. Came (ids, deliveries): ${came}`))
      })
      const check = (): void => {
        if (!condition()) return
        giveUp()
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** Waits for so many notices. */
  async count(count: number): Promise<readonly Notice[]> {
    await this.until(() => this.notices.length >= count, `${count} notices`)
    return this.notices
  }

  /** How often a notice came, by its first id. */
  timesOf({ ids }: Notice): number {
    return this.notices.filter((notice) => notice.ids[0] === ids[0]).length
  }

  /** Waits until a notice came so often. */
  again(notice: Notice, times = 2): Promise<void> {
    return this.until(() => this.timesOf(notice) >= times, `a notice to come ${times} times`)
  }
}

let made = 0

/** Ids of jobs, all different. */
export function jobIds(count: number): string[] {
  return Array.from(
    { length: count },
    () => `01a31c50-0000-7000-8000-${(++made).toString(16).padStart(12, '0')}`,
  )
}

/** A hint that names jobs. */
export function named(
  ids: readonly string[],
  difference: { space?: string; queue?: string; dueAt?: number } = {},
): Hint {
  const dueAt = 1_700_000_000_000
  return { kind: 'work', ...MAIL, dueAt, rank: dueAt, ids, ...difference }
}
