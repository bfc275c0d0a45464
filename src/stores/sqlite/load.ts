import { clientMissing } from '../../core/client-missing.ts'
import type { SqliteClient } from './client.ts'

interface SqliteModule {
  readonly DatabaseSync: new (file: string, options?: { readonly timeout?: number }) => SqliteClient
}

/** Opens a database with the client at hand: node:sqlite where Node has it, else @photostructure/sqlite. */
export async function openClient(file: string, timeoutMs: number): Promise<SqliteClient> {
  const { DatabaseSync } = builtIn() ?? (await installed())
  return new DatabaseSync(file, { timeout: timeoutMs })
}

function builtIn(): SqliteModule | undefined {
  // Node 22.5 to 22.12 have it behind a flag; there the name is unknown without it.
  return withoutExperimentalWarning(
    () => process.getBuiltinModule?.('node:sqlite') as SqliteModule | undefined,
  )
}

// Node 22 calls its SQLite experimental the first time it is loaded. Its users chose Skep, and cannot act on that.
function withoutExperimentalWarning<T>(load: () => T): T {
  const { emitWarning } = process
  const quiet = (warning: string | Error, ...rest: unknown[]): void => {
    const isMeant = rest[0] === 'ExperimentalWarning' && String(warning).includes('SQLite')
    if (!isMeant) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  process.emitWarning = quiet as typeof process.emitWarning
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

async function installed(): Promise<SqliteModule> {
  // In a variable, so that bundlers leave it alone and it stays optional.
  const name: string = '@photostructure/sqlite'
  try {
    return (await import(name)) as SqliteModule
  } catch (cause) {
    throw clientMissing(
      name,
      cause,
      `Node ${process.versions.node} has no SQLite of its own. Run "npm install @photostructure/sqlite@1", use Node ` +
        '22.13 or newer, or pass an open database as client.',
    )
  }
}
