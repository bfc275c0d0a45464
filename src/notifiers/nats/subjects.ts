import { createHash } from 'node:crypto'
import type { NoticeSource } from '../../notifier/notices.ts'

/** Longer tokens are replaced by their hash. */
const LONGEST_TOKEN = 400

export interface Subjects {
  readonly hints: string
  /** All notices. */
  readonly notices: string
  readonly dead: string
  readonly noticeStream: string
  readonly deadStream: string
  noticesOf(source: NoticeSource): string
  /** The name of the durable consumer, which is a folder on the server's disk and so must be short. */
  consumerOf(source: NoticeSource): string
}

export function subjectsOf(prefix: string): Subjects {
  const noticesOf = ({ space, queue }: NoticeSource): string =>
    `${prefix}.notices.${tokenOf(space)}.${tokenOf(queue)}`
  return {
    hints: `${prefix}.hints`,
    notices: `${prefix}.notices.*.*`,
    dead: `${prefix}.dead`,
    noticeStream: `${prefix}-notices`,
    deadStream: `${prefix}-dead-notices`,
    noticesOf,
    consumerOf: (source) => hash(noticesOf(source)).slice(0, 40),
  }
}

/**
 * Encodes a name as one token of a subject: letters, digits, `_` and `-` stay, every other byte becomes `=`
 * and two hex digits. So no character has a meaning to NATS, and tokens are unique.
 */
export function tokenOf(name: string): string {
  if (name === '') return '='
  let token = ''
  for (const byte of Buffer.from(name)) {
    const letter = String.fromCharCode(byte)
    token += /[A-Za-z0-9_-]/.test(letter) ? letter : `=${byte.toString(16).padStart(2, '0')}`
  }
  return token.length <= LONGEST_TOKEN ? token : `=~${hash(name)}`
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
