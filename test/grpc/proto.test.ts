import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary, toJson } from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { beforeAll, expect, it } from 'vitest'
import { file_skep_v1_operations } from '../../src/server/grpc/gen/skep/v1/operations_pb.ts'
import { file_skep_v1_skep } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { operationsProto } from '../../src/server/grpc/operations-proto.ts'
import { installPython } from '../servers/grpc-tools.ts'
import { protoc } from './stage.ts'

beforeAll(() => {
  expect(installPython()).toBeUndefined()
}, 600_000)

it('ships the proto of exactly the operations there are', () => {
  const shipped = readFileSync(new URL('../../proto/skep/v1/operations.proto', import.meta.url), 'utf8')

  expect(shipped, 'Run: npm run proto').toBe(operationsProto())
})

it('has code that was made from the protos as they are', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skep-proto-'))
  const file = join(folder, 'set.binpb')
  try {
    protoc(`--descriptor_set_out=${file}`)
    const { file: compiled } = fromBinary(FileDescriptorSetSchema, readFileSync(file))
    const made = [file_skep_v1_skep, file_skep_v1_operations].map(({ proto }) => proto)

    for (const one of compiled) {
      const ours = made.find(({ name }) => name === one.name)
      expect(ours && textOf(ours), 'Run: npm run proto').toBe(textOf(one))
    }
    expect(compiled).toHaveLength(2)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** protoc tells how JSON calls each field; the generator leaves that out because it follows from the name. */
function textOf(file: FileDescriptorProto): string {
  return JSON.stringify(
    toJson(FileDescriptorProtoSchema, file),
    (key, value: unknown) => (key === 'jsonName' ? undefined : value),
    2,
  )
}
