import type { NewJob } from '../../../core/jobs/job.ts'
import { writeId } from '../connection/bytes.ts'
import type { Argument } from '../connection/client.ts'
import { tagOf } from '../keys.ts'
import { SHEET } from '../lua/jobs/packed-ready.ts'

/** What one command takes: Lua cannot hand over many more arguments at once. */
const MOST_IN_A_PIECE = 2_000
/** A piece has so much room, unless a single job needs more. */
const PIECE_BYTES = 262_144

/** A number of MessagePack that says how long the text is that follows, in four bytes. */
const TEXT = 0xdb
/** The same for a text of less than 32 bytes, in the number itself; and for one of less than 256, in one byte. */
const SHORT = 0xa0
const LESS_SHORT = 0xd9
const HEAD_BYTES = 11
/** A score of 0 with its number, then the number and length of a member; and what stands in a member before its ids. */
const MEMBER_AT = 2 + 5
const PLACE_BYTES = 13

/** Where the jobs go: the number of their queue, and the moment at which they are enqueued. */
export interface Spot {
  readonly q: number
  readonly moment: number
}

/** Plain jobs of one queue as `lua/bulk-insert.ts` takes them; null if their ids do not rise. */
export function packed(jobs: readonly NewJob[], spot: Spot): Argument[] | null {
  const ids = Buffer.allocUnsafeSlow(16 * jobs.length)
  for (let n = 0; n < jobs.length; n++) writeId(ids, (jobs[n] as NewJob).id, 16 * n)
  if (!rises(ids)) return null
  const records = packedRecords(jobs, spot, ids, tagOf((jobs[0] as NewJob).space))
  const sheets: Buffer[] = []
  for (let from = 0; from < ids.length; from += 16 * SHEET * MOST_IN_A_PIECE) {
    sheets.push(packedSheets(ids.subarray(from, from + 16 * SHEET * MOST_IN_A_PIECE), spot))
  }
  const first = ids.subarray(0, 16)
  const last = ids.subarray(-16)
  return [first, last, String(jobs.length), String(records.length), ...records, ...sheets]
}

/** Key and record of each, in pieces. */
function packedRecords(jobs: readonly NewJob[], { q, moment }: Spot, ids: Buffer, tag: string): Buffer[] {
  const size = 16 + tag.length
  // What says how long the key is, the id, and the tag.
  const key = Buffer.from([
    ...(size < 32 ? [SHORT + size] : [LESS_SHORT, size]),
    ...Buffer.alloc(16),
    ...Buffer.from(tag),
  ])
  const idAt = key.length - size
  // Behind the key and the length of a record stands that; and behind what a plain record begins with, the payload.
  const recordAt = key.length + 5
  const payloadAt = recordAt + HEAD_BYTES
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(q, 1)
  head.writeUIntBE(moment, 5, 6)
  const pieces: Buffer[] = []
  let bytes = Buffer.alloc(0)
  let at = 0
  let room = 0
  for (let n = 0; n < jobs.length; n++) {
    const { payload } = jobs[n] as NewJob
    // A character of JavaScript takes at most 3 bytes. Room for the worst case of them all would be memory that nobody uses.
    const most = payloadAt + 3 * payload.length
    if (room === 0 || at + most > bytes.length) {
      if (at > 0) pieces.push(bytes.subarray(0, at))
      bytes = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, most))
      at = 0
      room = MOST_IN_A_PIECE
    }
    room--
    const length = HEAD_BYTES + bytes.write(payload, at + payloadAt)
    for (let i = 0; i < 16; i++) key[idAt + i] = ids[16 * n + i] as number
    for (let i = 0; i < key.length; i++) bytes[at + i] = key[i] as number
    bytes[at + recordAt - 5] = TEXT
    bytes[at + recordAt - 4] = length >>> 24
    bytes[at + recordAt - 3] = length >>> 16
    bytes[at + recordAt - 2] = length >>> 8
    bytes[at + recordAt - 1] = length
    for (let i = 0; i < HEAD_BYTES; i++) bytes[at + recordAt + i] = head[i] as number
    at += recordAt + length
  }
  pieces.push(bytes.subarray(0, at))
  return pieces
}

/** A score and a member for each sheet. */
function packedSheets(ids: Buffer, { q, moment }: Spot): Buffer {
  const place = Buffer.alloc(PLACE_BYTES)
  place.writeUInt32BE(q)
  place.writeDoubleBE(moment, 5)
  // As `num` of `lua/bytes.ts` writes it.
  place[5] = (place[5] as number) + 128
  const count = Math.ceil(ids.length / (16 * SHEET))
  const bytes = Buffer.allocUnsafe(ids.length + count * (MEMBER_AT + PLACE_BYTES))
  let at = 0
  for (let from = 0; from < ids.length; from += 16 * SHEET) {
    const to = Math.min(ids.length, from + 16 * SHEET)
    bytes[at] = 0xa1
    bytes[at + 1] = 0x30
    bytes[at + 2] = TEXT
    bytes.writeUInt32BE(PLACE_BYTES + to - from, at + 3)
    place.copy(bytes, at + MEMBER_AT)
    ids.copy(bytes, at + MEMBER_AT + PLACE_BYTES, from, to)
    at += MEMBER_AT + PLACE_BYTES + to - from
  }
  return bytes
}

/** Whether each of these ids is higher than the one before it. */
function rises(ids: Buffer): boolean {
  for (let at = 16; at < ids.length; at += 16) {
    let i = at
    while (i < at + 16 && ids[i] === ids[i - 16]) i++
    if (i === at + 16 || (ids[i] as number) < (ids[i - 16] as number)) return false
  }
  return true
}
