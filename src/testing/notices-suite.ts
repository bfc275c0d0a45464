import type { Notifier } from '../notifier/notifier.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import { noticeAnswers } from './notices/answers.ts'
import { noticesFlow } from './notices/flow.ts'
import { type NoticeScene, withNotices } from './notices/scene.ts'
import type { OpenNotifier } from './notifier-suite.ts'
import type { Runner } from './runner.ts'

export interface DescribeNoticesOptions {
  /** How long the opened notifier lets a worker hold a notice without a word. A second or less keeps the suite short. */
  readonly heldMs: number
  /**
   * Opens a second notifier on the same channel, as another process would. The cases that need one are left
   * out otherwise.
   */
  readonly reopen?: (notifier: Notifier) => Promise<Notifier>
}

/** The promises of `Notices`, as a suite. See `describeStore` for how to call it. */
export function describeNotices(
  name: string,
  open: OpenNotifier,
  { describe, it }: Runner,
  { heldMs, reopen }: DescribeNoticesOptions,
): void {
  const test: NoticeScene['test'] = (sentence, body) =>
    it(sentence, async () => {
      const notifier = withNotices(await open())
      try {
        await body(notifier)
      } finally {
        await notifier.close()
      }
    })
  const scene: NoticeScene = { test, heldMs, reopen, runtime: systemRuntime() }

  describe(`${name} notices`, () => {
    noticesFlow(scene)
    noticeAnswers(scene)
  })
}
