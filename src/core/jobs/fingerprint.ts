import type { Failure } from './job.ts'

/** The prefix of a message that is read: enough to tell errors apart, at a bounded cost. */
const READ = 512

/**
 * The group an error belongs to: errors of one queue with the same name or code and the same message,
 * ignoring what differs from job to job. It depends on nothing else, so all processes and versions agree.
 */
export function fingerprintOf(
  queue: string,
  failure: Pick<Failure, 'kind' | 'message' | 'name' | 'code'>,
): string {
  return hashText(
    `${queue}\n${failureTitle(failure)}\n${failure.code ?? ''}\n${normalMessage(failure.message)}`,
  )
}

/** The name of a failure: that of the error, its code, or its kind. */
export function failureTitle({ name, code, kind }: Pick<Failure, 'kind' | 'name' | 'code'>): string {
  return name || code || kind
}

/**
 * A message without the parts that differ from job to job. The order matters: an e-mail address contains the
 * dots of a path, a path contains numbers, and a UUID contains both.
 */
export function normalMessage(message: string): string {
  return (
    message
      .slice(0, READ)
      .replace(/"[^"\n]*"|'[^'\n]*'|`[^`\n]*`/g, '<text>')
      .replace(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '<email>')
      .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s,;)]+/gi, '<url>')
      .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
      .replace(/(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?/g, '<path>')
      .replace(/\b0x[0-9a-f]+\b/gi, '<n>')
      // Digits mixed with a to f, long enough not to be a word.
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, '<id>')
      .replace(/\d+(?:[.,:_]\d+)*/g, '<n>')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

/** A 64-bit hash of a string as 16 digits: two multiplicative hashes mixed. Not cryptographic. */
export function hashText(text: string): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 2_654_435_761)
    b = Math.imul(b ^ unit, 1_597_334_677)
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909)
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909)
  return hex(a) + hex(b)
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
