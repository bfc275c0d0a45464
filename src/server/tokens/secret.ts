/** The texts that prove who somebody is: how they are made, taken apart, and compared. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Runtime } from '../../index.ts'

/** A secret with the name under which its hash is stored. */
export interface Secret {
  /** Not secret: it stands in lists and in the audit. */
  readonly id: string
  readonly secret: string
}

const ID_BYTES = 8
const SECRET_BYTES = 32
const PARTS = /^([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

/** A new one, of 256 bits that nobody can guess. */
export function makeSecret(runtime: Runtime): Secret {
  return {
    id: Buffer.from(runtime.bytes(ID_BYTES)).toString('hex'),
    secret: Buffer.from(runtime.bytes(SECRET_BYTES)).toString('base64url'),
  }
}

/** `<id>_<secret>`, as it is carried. */
export function secretText({ id, secret }: Secret): string {
  return `${id}_${secret}`
}

export function parseSecret(text: string): Secret | null {
  const [, id, secret] = PARTS.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}

/** SHA-256 in hex. Enough without salt or stretching, because what is hashed is 256 random bits and no word. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}

const NOBODY = Buffer.alloc(32)

/**
 * Whether a secret is the one that was hashed. It takes as long for a wrong one as for a right one, and as long where there is
 * nothing to compare with.
 */
export function isSecret(secret: string, hash: string | null): boolean {
  const given = Buffer.from(hashOf(secret), 'hex')
  const stored = hash !== null && /^[0-9a-f]{64}$/.test(hash) ? Buffer.from(hash, 'hex') : NOBODY
  // Hashes of equal length: on the secrets themselves the comparison would throw, or tell their length.
  return timingSafeEqual(given, stored) && stored !== NOBODY
}
