import { describe, expect, it } from 'vitest'
import { checkFile } from '../../scripts/boundaries.mjs'

function faults(path: string, text: string): string[] {
  return checkFile(path, text).map(({ line, message }) => `${line} ${message}`)
}

function faultOfImport(from: string, to: string): string[] {
  return checkFile(from, `import { x } from '${to}'`).map(({ message }) => message)
}

describe('time and chance', () => {
  it.each([
    'const t = Date.now()',
    `const t = Date['now']()`,
    'const t = globalThis.Date.now()',
    'const now = Date.now',
    'const t = new Date()',
    'const t = new Date',
    'const t = Date()',
    'const t = performance.now()',
    'const r = Math.random()',
    'const t = process.hrtime.bigint()',
    'setTimeout(f, 1)',
    'globalThis.setTimeout(f, 1)',
    'setInterval(f, 1)',
    'setImmediate(f)',
    'queueMicrotask(f)',
    'const options = { sleep: setTimeout }',
    'const id = crypto.randomUUID()',
    'const id = globalThis.crypto.randomUUID()',
    `import { randomUUID } from 'node:crypto'`,
    `import { randomBytes as bytes } from 'crypto'`,
    `import { setTimeout as sleep } from 'node:timers/promises'`,
    `import { performance } from 'node:perf_hooks'`,
    `const { setTimeout: sleep } = await import('node:timers/promises')`,
    'const signal = AbortSignal.timeout(5)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    'const text = `at ${Date.now()}`',
  ])('are not taken directly: %s', (line) => {
    expect(faults('src/worker/loop.ts', `\n${line}`)).toEqual([expect.stringMatching(/^2 .*runtime/)])
  })

  it.each([
    '// Date.now() is read by the runtime',
    `const sql = 'select Date.now()'`,
    'const pattern = /Math.random()/',
    'const t = new Date(now)',
    'const t = runtime.setTimeout(f, 1)',
    'interface Timers { setTimeout(f: () => void): void }',
    'type Timer = ReturnType<typeof setTimeout>',
    `import { createHash } from 'node:crypto'`,
    `import type { Performance } from 'node:perf_hooks'`,
  ])('are not seen where they are not: %s', (line) => {
    expect(faults('src/worker/loop.ts', line)).toEqual([])
  })

  it('are allowed in the runtime and on the command line', () => {
    const text = 'setTimeout(() => Date.now() + Math.random(), 1)'

    expect(faults('src/runtime/runtime.ts', text)).toEqual([])
    expect(faults('src/cli/dev.ts', text)).toEqual([])
  })

  it('are excused on one line by a comment with a reason', () => {
    const text = [
      'const a = Date.now() // boundary: only shown to people',
      'const b = Date.now() // boundary:',
      'const c = Date.now()',
    ].join('\n')

    expect(faults('src/client/log.ts', text)).toEqual([
      expect.stringMatching(/^2 /),
      expect.stringMatching(/^3 /),
    ])
  })
})

describe('layers', () => {
  it.each([
    ['src/core/jobs/job.ts', './state.ts'],
    ['src/store/store.ts', '../core/jobs/job.ts'],
    ['src/store/store.ts', '../runtime/runtime.ts'],
    ['src/runtime/runtime.ts', '../core/clock.ts'],
    ['src/stores/sqlite/jobs/claim.ts', './rows.ts'],
    ['src/stores/sqlite/jobs/claim.ts', '../../../store/store.ts'],
    ['src/stores/sqlite/jobs/claim.ts', '../../../runtime/runtime.ts'],
    ['src/stores/sqlite/jobs/claim.ts', '../../shared/rows.ts'],
    ['src/stores/postgres/notify.ts', '../../notifiers/shared/channel.ts'],
    ['src/notifiers/nats/listen.ts', '../../notifier/notifier.ts'],
    ['src/worker/loop.ts', '../runtime/runtime.ts'],
    ['src/maintenance/scheduler.ts', '../flows/flow.ts'],
    ['src/worker/loop.ts', '../maintenance/scheduler.ts'],
    ['src/client/skep.ts', '../flows/flow.ts'],
    ['src/client/skep.ts', '../notifiers/local/notifier.ts'],
    ['src/testing/suite.ts', '../stores/memory/store.ts'],
    ['src/testing/suite.ts', '../client/skep.ts'],
    ['src/cli/main.ts', '../sqlite.ts'],
    ['src/cli/main.ts', './dev.ts'],
    ['src/operations/jobs/list.ts', '../../index.ts'],
    ['src/server/http.ts', '../operations/table.ts'],
    ['src/server/http.ts', '../index.ts'],
    ['src/sqlite.ts', './stores/sqlite/store.ts'],
    ['src/testing.ts', './testing/suite.ts'],
    ['src/index.ts', './client/skep.ts'],
    ['src/worker/loop.ts', 'node:events'],
  ])('%s may import %s', (from, to) => {
    expect(faultOfImport(from, to)).toEqual([])
  })

  it.each([
    ['src/core/jobs/job.ts', '../../store/store.ts'],
    ['src/core/jobs/job.ts', '../../runtime/runtime.ts'],
    ['src/runtime/runtime.ts', '../store/store.ts'],
    ['src/stores/sqlite/jobs/claim.ts', '../../postgres/jobs/claim.ts'],
    ['src/stores/postgres/claim.ts', '../../notifiers/nats/listen.ts'],
    ['src/stores/shared/rows.ts', '../sqlite/claim.ts'],
    ['src/stores/sqlite/jobs/claim.ts', '../../../worker/loop.ts'],
    ['src/flows/flow.ts', '../maintenance/scheduler.ts'],
    ['src/maintenance/scheduler.ts', '../worker/loop.ts'],
    ['src/worker/loop.ts', '../client/skep.ts'],
    ['src/worker/loop.ts', '../stores/memory/store.ts'],
    ['src/client/skep.ts', '../stores/memory/store.ts'],
    ['src/client/skep.ts', '../notifiers/nats/listen.ts'],
    ['src/client/skep.ts', '../index.ts'],
    ['src/testing/suite.ts', '../stores/sqlite/store.ts'],
    ['src/operations/jobs/list.ts', '../../client/skep.ts'],
    ['src/operations/jobs/list.ts', '../../server/http.ts'],
    ['src/cli/main.ts', '../client/skep.ts'],
    ['src/cli/main.ts', '../server/http.ts'],
    ['src/server/http.ts', '../stores/memory/store.ts'],
    ['src/index.ts', './cli/main.ts'],
    ['src/index.ts', './testing/suite.ts'],
    ['src/client/skep.ts', '../../test/servers/index.ts'],
  ])('%s may not import %s', (from, to) => {
    expect(faultOfImport(from, to)).toHaveLength(1)
  })

  it.each([
    `import type { Store } from '../stores/memory/store.ts'`,
    `export { x } from '../stores/memory/store.ts'`,
    `export * from '../stores/memory/store.ts'`,
    `const x = await import('../stores/memory/store.ts')`,
    `type Store = import('../stores/memory/store.ts').Store`,
    `import x from '../stores/memory/store.ts' // boundary: not for layers`,
  ])('are held for every form of import: %s', (line) => {
    expect(faults('src/client/skep.ts', line)).toHaveLength(1)
  })

  it('leave no file without a place', () => {
    expect(faults('src/utils.ts', '')).toEqual([expect.stringContaining('no layer')])
    expect(faults('src/helpers/time.ts', '')).toEqual([expect.stringContaining('no layer')])
  })
})

describe('generated code', () => {
  it.each(['eval(text)', 'globalThis.eval(text)', 'new Function(text)', 'const f = Function(text)'])(
    'does not occur: %s',
    (line) => {
      expect(faults('src/cli/main.ts', line)).toHaveLength(1)
    },
  )

  it('does not hide behind names that merely look like it', () => {
    expect(faults('src/client/skep.ts', 'redis.eval(script); const f: Function = g')).toEqual([])
  })
})

describe('import.meta', () => {
  it('is for the command line alone', () => {
    expect(faults('src/cli/main.ts', 'const here = import.meta.url')).toEqual([])
    expect(faults('src/client/skep.ts', 'const here = import.meta.url')).toHaveLength(1)
  })
})
