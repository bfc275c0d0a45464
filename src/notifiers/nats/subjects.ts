/** The names that NATS knows things by. */
import { createHash } from 'node:crypto'
import type { NoticeSource } from '../../notifier/notices.ts'

/** Longer tokens than this are replaced by their hash. */
const LONGEST_TOKEN = 400

export interface Subjects {
  readonly hints: string
  /** All notices. */
  readonly notices: string
  readonly dead: string
  readonly noticeStream: string
  readonly deadStream: string
  noticesOf(source: NoticeSource): string
  /** The name of the durable consumer, which is a folder's name on the server's disk and so must be short. */
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
 * A name as one token of a subject: letters, digits, `_` and `-` stay as they are, every other byte becomes `=` and two
 * digits, so that nothing in a name has a meaning to NATS, and no two names are the same token.
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
