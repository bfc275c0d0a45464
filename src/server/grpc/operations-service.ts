/**
 * All other operations, one method for each, with the same objects as over HTTP: the reference is the OpenAPI document. The proto is
 * made from the table of operations, so nothing can be forgotten here.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import type { HandlerContext, MethodImpl } from '@connectrpc/connect'
import { SkepError } from '../../index.ts'
import type { OperationName } from '../api.ts'
import { callOperation } from '../call.ts'
import { LISTED, type ListedOperation } from '../operations/table.ts'
import { connectError } from './errors.ts'
import type { GrpcEnv } from './skep-service.ts'

/** `jobs.enqueueMany` is `JobsEnqueueMany`. */
export function methodName(name: OperationName): string {
  return name
    .split('.')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

type Method = (input: JsonObject, context: HandlerContext) => Promise<JsonObject>

/** The methods by their name in code, which begins with a small letter. */
export function operationsService(env: GrpcEnv): Record<string, MethodImpl<never> & Method> {
  const methods = LISTED.map((operation) => {
    const name = methodName(operation.name)
    return [name.charAt(0).toLowerCase() + name.slice(1), methodOf(env, operation)] as const
  })
  return Object.fromEntries(methods) as Record<string, MethodImpl<never> & Method>
}

function methodOf(env: GrpcEnv, operation: ListedOperation): Method {
  return async (input, context) => {
    try {
      const caller = await env.callerOf(context)
      const output = await callOperation(env, operation, input, { caller, signal: context.signal })
      // As it goes over HTTP: moments are texts, and what is not JSON is left out.
      return JSON.parse(JSON.stringify(output)) as JsonObject
    } catch (error) {
      if (!(error instanceof SkepError)) env.report(error)
      throw connectError(error)
    }
  }
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
