import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { Notifier } from '../../src/notifier.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { systemRuntime } from '../../src/runtime.ts'
import { describeNotifier } from '../../src/testing.ts'

const root = mkdtempSync(join(tmpdir(), 'skep-hints-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let count = 0
const folders = new WeakMap<Notifier, string>()

function open(folder = join(root, String(++count))): Notifier {
  const notifier = localNotifier({ runtime: systemRuntime(), folder })
  folders.set(notifier, folder)
  return notifier
}

describeNotifier(
  'local between processes',
  () => open(),
  { describe, it },
  {
    reopen: async (notifier) => open(folders.get(notifier) as string),
  },
)
