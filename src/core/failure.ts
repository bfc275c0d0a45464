import { messageOf, SkepError } from './errors.ts'
import type { Failure } from './job.ts'
import { LIMITS } from './limits.ts'

/** What is kept of a thrown value: bounded, plain, and readable by every store. */
export function failureOf(kind: Failure['kind'], thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown : null
  const code = error instanceof SkepError ? error.code : stringProperty(error, 'code')
  const causes = causesOf(error)
  return {
    kind,
    message: clean(messageOf(thrown), LIMITS.errorMessageBytes),
    ...(error ? { name: clean(error.name, 128) } : {}),
    ...(code ? { code: clean(code, 128) } : {}),
    ...(error?.stack ? { stack: clean(error.stack, LIMITS.errorStackBytes) } : {}),
    ...(causes.length > 0 ? { causes } : {}),
  }
}

/** A failure that is only a sentence. */
export function reasonFailure(kind: Failure['kind'], reason: string): Failure {
  return { kind, message: clean(reason, LIMITS.reasonBytes) }
}

function causesOf(error: Error | null): { name: string; message: string }[] {
  const causes: { name: string; message: string }[] = []
  let cause = error?.cause
  while (cause instanceof Error && causes.length < LIMITS.errorCauses) {
    causes.push({ name: clean(cause.name, 128), message: clean(cause.message, LIMITS.errorMessageBytes) })
    cause = cause.cause
  }
  return causes
}

function stringProperty(value: object | null, key: string): string | undefined {
  const found = (value as Record<string, unknown> | null)?.[key]
  return typeof found === 'string' ? found : undefined
}

/** Text every database can hold: no NUL, no half surrogate pair, cut to its limit (a letter is at most 3 bytes). */
function clean(text: string, maxBytes: number): string {
  const cut = text.length > maxBytes / 3 ? cutToBytes(text, maxBytes) : text
  return cut.replaceAll('\0', '').toWellFormed()
}

function cutToBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text.toWellFormed())
  if (bytes.length <= maxBytes) return text
  // A letter cut in half at the end becomes a replacement mark, which is then dropped.
  return new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/\uFFFD$/, '')
}
