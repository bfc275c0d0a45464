/**
 * All other operations, one method for each, with the same objects as over HTTP: the reference is the OpenAPI document. The proto is
 * made from the table of operations, so nothing can be forgotten here.
 */
import { fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import { type Struct, StructSchema } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { SkepError } from '../../index.ts'
import { callOperation } from '../../operations/call.ts'
import { LISTED, type ListedOperation } from '../../operations/table.ts'
import { connectError } from './errors.ts'
import { methodName } from './operations-proto.ts'
import type { GrpcEnv } from './skep-service.ts'

type Method = (input: Struct, context: HandlerContext) => Promise<Struct>

/** The methods by their name in code, which begins with a small letter. */
export function operationsService(env: GrpcEnv): Record<string, Method> {
  const methods = LISTED.map((operation) => {
    const name = methodName(operation.name)
    return [name.charAt(0).toLowerCase() + name.slice(1), methodOf(env, operation)] as const
  })
  return Object.fromEntries(methods)
}

function methodOf(env: GrpcEnv, operation: ListedOperation): Method {
  return async (input, context) => {
    try {
      const caller = await env.callerOf(context)
      const output = await callOperation(env, operation, toJson(StructSchema, input), {
        caller,
        signal: context.signal,
      })
      // As it goes over HTTP: moments are texts, and what is not JSON is left out.
      return fromJson(StructSchema, JSON.parse(JSON.stringify(output)) as JsonObject)
    } catch (error) {
      if (!(error instanceof SkepError)) env.report(error)
      throw connectError(error, env.services.redactor)
    }
  }
}
