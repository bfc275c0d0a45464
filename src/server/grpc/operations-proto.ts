import type { OperationName } from '../../operations/schema/wire-types.ts'
import { LISTED } from '../../operations/table.ts'

/** `jobs.enqueueMany` is `JobsEnqueueMany`. */
export function methodName(name: OperationName): string {
  return name
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

/** The text of `operations.proto`. */
export function operationsProto(): string {
  const methods = LISTED.flatMap(({ name, summary }) => [
    `  // ${summary}`,
    `  rpc ${methodName(name)}(google.protobuf.Struct) returns (google.protobuf.Struct);`,
    '',
  ])
  return [
    '// What people do with jobs: look, cancel, pause, … Made from the table of operations by `npm run proto`; do not edit.',
    '//',
    '// Inputs and outputs are the objects of the HTTP API. What is in them says its OpenAPI document: /api/v1/openapi.json.',
    'syntax = "proto3";',
    '',
    'package skep.v1;',
    '',
    'import "google/protobuf/struct.proto";',
    '',
    'service Operations {',
    ...methods.slice(0, -1),
    '}',
    '',
  ].join('\n')
}
