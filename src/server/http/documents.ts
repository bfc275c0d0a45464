import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiOf } from '../openapi.ts'
import { packageFolder } from '../package-folder.ts'
import type { Document } from './handler.ts'
import type { RawRoute } from './route.ts'

/** What describes the API to programs: for HTTP, and for gRPC. */
export function documentsOf(routes: readonly RawRoute[]): Readonly<Record<string, Document>> {
  return {
    '/openapi.json': { type: 'application/json', text: once(() => JSON.stringify(openApiOf(routes))) },
    '/skep.proto': { type: 'text/plain; charset=utf-8', text: once(protoText) },
  }
}

/** The description for gRPC, which is shipped with the package; null if it is not there. */
export function protoText(): string | null {
  const folder = packageFolder()
  try {
    return folder === null ? null : readFileSync(join(folder, 'proto/skep/v1/skep.proto'), 'utf8')
  } catch {
    return null
  }
}

function once(make: () => string | null): () => string | null {
  let made: { readonly text: string | null } | undefined
  return () => {
    made ??= { text: make() }
    return made.text
  }
}
