// Makes the code of src/server/grpc/gen from proto/. Run it after a change there; a test says when it was forgotten.
// Needs protoc: apt-get install protobuf-compiler libprotobuf-dev

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.mjs'

const folder = join(root, 'proto/skep/v1')
// The operations are in a table of their own.
const { createJiti } = await import('jiti')
const made = await createJiti(import.meta.url).import(join(root, 'src/server/grpc/operations-proto.ts'))
const { operationsProto } = /** @type {{ operationsProto: () => string }} */ (made)
writeFileSync(join(folder, 'operations.proto'), operationsProto())
const out = join(root, 'src/server/grpc/gen')
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const { status, error } = spawnSync(
  'protoc',
  [
    `--proto_path=${join(root, 'proto')}`,
    `--plugin=protoc-gen-es=${join(root, 'node_modules/.bin/protoc-gen-es')}`,
    `--es_out=${out}`,
    // No enums are in the files, so what comes out is erasable like all our sources.
    '--es_opt=target=ts,import_extension=ts',
    ...readdirSync(folder).map((file) => join(folder, file)),
  ],
  { stdio: 'inherit' },
)
if (error) console.error(`protoc could not be started: ${error.message}`)
process.exit(status ?? 1)
