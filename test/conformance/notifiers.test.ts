import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { describeNotifier } from '../../src/testing.ts'

const runtime = systemRuntime()

describeNotifier('local', () => localNotifier({ runtime }), { describe, it })

const parent = mkdtempSync(join(tmpdir(), 'skep-hints-'))
afterAll(() => rmSync(parent, { recursive: true, force: true }))

const folders = new WeakMap<Notifier, string>()
const openIn = (folder: string): Notifier => {
  const notifier = localNotifier({ runtime, folder })
  folders.set(notifier, folder)
  return notifier
}

describeNotifier(
  'local with a folder',
  () => openIn(mkdtempSync(join(parent, 'hints-'))),
  { describe, it },
  { reopen: async (notifier) => openIn(folders.get(notifier) as string) },
)
