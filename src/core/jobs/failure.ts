import { messageOf } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import type { Failure } from './job.ts'

/** The stored form of a thrown value: bounded, plain, and readable by every store. Anything may be thrown. */
export function failureOf(kind: Failure['kind'], thrown: unknown): Failure {
  const error = isError(thrown) ? thrown : null
  const name = textIn(error, 'name')
  const code = textIn(error, 'code')
  const stack = textIn(error, 'stack')
  const causes = causesOf(error)
  return {
    kind,
    message: clean(messageOf(thrown), LIMITS.errorMessageBytes),
    ...(name ? { name: clean(name, 128) } : {}),
    ...(code ? { code: clean(code, 128) } : {}),
    ...(stack ? { stack: clean(stack, LIMITS.errorStackBytes) } : {}),
    ...(causes.length > 0 ? { causes } : {}),
  }
}

/** A failure with only a message. */
export function reasonFailure(kind: Failure['kind'], reason: string): Failure {
  return { kind, message: clean(reason, LIMITS.reasonBytes) }
}

function causesOf(error: Error | null): { name: string; message: string }[] {
  const causes: { name: string; message: string }[] = []
  let cause = read(error, 'cause')
  while (cause !== undefined && cause !== null && causes.length < LIMITS.errorCauses) {
    // Anything can be a cause: a string, or what a driver rejected with.
    const name = clean(isError(cause) ? (textIn(cause, 'name') ?? 'Error') : typeof cause, 128)
    causes.push({ name, message: clean(messageOf(cause), LIMITS.errorMessageBytes) })
    cause = isError(cause) ? read(cause, 'cause') : undefined
  }
  return causes
}

function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false // A revoked proxy.
  }
}

function textIn(error: Error | null, key: string): string | undefined {
  const found = read(error, key)
  return typeof found === 'string' ? found : undefined
}

function read(error: Error | null, key: string): unknown {
  try {
    return (error as unknown as Record<string, unknown> | null)?.[key]
  } catch {
    return undefined
  }
}

/** Text every database can hold: no NUL, no lone surrogate, cut to its limit (a unit is at most 3 bytes). */
export function clean(text: string, maxBytes: number): string {
  const cut = text.length > maxBytes / 3 ? cutToBytes(text, maxBytes) : text
  return cut.replaceAll('\0', '').toWellFormed()
}

function cutToBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text.toWellFormed())
  if (bytes.length <= maxBytes) return text
  // A character cut in half at the end becomes a replacement character, which is then dropped.
  return new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/\uFFFD$/, '')
}
