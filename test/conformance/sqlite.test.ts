import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store.ts'
import { describeStore } from '../../src/testing.ts'
import { describeOracle } from './describe-oracle.ts'

const folder = mkdtempSync(join(tmpdir(), 'skep-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const files = new WeakMap<Store, string>()
let opened = 0

async function openFile(file: string): Promise<Store> {
  const store = sqliteStore({ file })
  await store.migrate()
  await store.ready()
  files.set(store, file)
  return store
}

const open = (): Promise<Store> => openFile(join(folder, `${++opened}.db`))
const reopen = (store: Store): Promise<Store> => openFile(files.get(store) as string)

describeStore('sqlite', open, { describe, it }, { reopen })
describeOracle('sqlite', open, { seeds: 60, reopen })
