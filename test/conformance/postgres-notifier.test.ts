import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { postgresNotifier } from '../../src/postgres.ts'
import { describeNotifier } from '../../src/testing.ts'
import { type FreshDatabase, freshDatabase } from '../servers/index.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

const schemas = new WeakMap<Notifier, string>()
let opened = 0

function openIn(schema: string): Notifier {
  const notifier = postgresNotifier({ url: database.url, schema })
  schemas.set(notifier, schema)
  return notifier
}

describeNotifier(
  'postgres',
  () => openIn(`hints_${++opened}`),
  { describe, it },
  { reopen: async (notifier) => openIn(schemas.get(notifier) as string) },
)
