import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, describe, it } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { describeStore, type UserTransaction } from '../../src/testing.ts'
import { describeOracle } from './describe-oracle.ts'

const folder = mkdtempSync(join(tmpdir(), 'skep-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const files = new WeakMap<Store, string>()
let opened = 0

// Whether a commit waits for the disk makes no difference to what it does, only to how long the suite takes.
async function openFile(file: string): Promise<Store> {
  const store = sqliteStore({ file, synchronous: 'normal' })
  await store.migrate()
  await store.ready()
  files.set(store, file)
  return store
}

const open = (): Promise<Store> => openFile(join(folder, `${++opened}.db`))
const reopen = (store: Store): Promise<Store> => openFile(files.get(store) as string)

async function begin(store: Store): Promise<UserTransaction> {
  const client = new DatabaseSync(files.get(store) as string)
  client.exec('begin immediate')
  const end = (sql: string) => async (): Promise<void> => {
    client.exec(sql)
    client.close()
  }
  return { tx: client, commit: end('commit'), rollback: end('rollback') }
}

describeStore('sqlite', open, { describe, it }, { reopen, begin })
describeOracle('sqlite', open, { seeds: 50, reopen })
