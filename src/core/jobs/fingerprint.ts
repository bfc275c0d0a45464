import type { Failure } from './job.ts'

/** What is read of a message: enough to tell errors apart, and it bounds what one costs. */
const READ = 512

/**
 * The group an error belongs to: errors of one queue with one name or code and, what differs from job to job left out, one
 * message. It depends on nothing else, so every process and every version says the same of a stored failure.
 */
export function fingerprintOf(
  queue: string,
  failure: Pick<Failure, 'kind' | 'message' | 'name' | 'code'>,
): string {
  return hashText(
    `${queue}\n${failureTitle(failure)}\n${failure.code ?? ''}\n${normalMessage(failure.message)}`,
  )
}

/** What a failure is called: the name of the error, its code, or what became of the run. */
export function failureTitle({ name, code, kind }: Pick<Failure, 'kind' | 'name' | 'code'>): string {
  return name || code || kind
}

/**
 * A message without what differs from job to job. The order matters: an e-mail address has dots of a path in it, a path has
 * numbers, and a UUID has both.
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
      // Digits and the letters a to f together, long enough to be no word.
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, '<id>')
      .replace(/\d+(?:[.,:_]\d+)*/g, '<n>')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

/** 64 bits of a text as 16 digits: two multiplicative hashes that mix into each other. It is for telling apart, not for secrets. */
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
