import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store.ts'
import { describeStore } from '../../src/testing.ts'
import { describeOracle } from '../conformance/describe-oracle.ts'

const folder = mkdtempSync(join(tmpdir(), 'skep-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const files = new WeakMap<Store, string>()

async function openFile(file = join(folder, `${++count}.db`)): Promise<Store> {
  const store = sqliteStore({ file })
  files.set(store, file)
  await store.ready()
  return store
}

describeStore('sqlite in memory', () => sqliteStore({ file: ':memory:' }), { describe, it })
describeStore(
  'sqlite',
  () => openFile(),
  { describe, it },
  {
    reopen: (store) => openFile(files.get(store) as string),
  },
)
describeOracle('sqlite', () => sqliteStore({ file: ':memory:', tablePrefix: 'oracle_' }), { seeds: 100 })
