/** Everything that a Redis store keeps, as it is in its keys. A field or a member is bytes, here as text of one character each. */
import type { Redis } from 'ioredis'
import { type More, readRecord } from '../../src/stores/redis/jobs/job-codec.ts'
import { KEY_NAMES, type KeyName, keysOf, tagOf } from '../../src/stores/redis/keys.ts'

export interface Contents {
  readonly hashes: ReadonlyMap<string, ReadonlyMap<string, Buffer>>
  readonly sets: ReadonlyMap<string, ReadonlySet<string>>
}

const NO_HASH: ReadonlyMap<string, Buffer> = new Map()
const NO_SET: ReadonlySet<string> = new Set()

export function hashOf({ hashes }: Contents, name: KeyName): ReadonlyMap<string, Buffer> {
  return hashes.get(name) ?? NO_HASH
}

export function setOf({ sets }: Contents, name: KeyName): ReadonlySet<string> {
  return sets.get(name) ?? NO_SET
}

const PAGE = 5_000

/** Reads all keys of a prefix, a page at a time. Nobody may write meanwhile. */
export async function readContents(client: Redis, prefix: string): Promise<Contents> {
  const hashes = new Map<string, Map<string, Buffer>>()
  const sets = new Map<string, Set<string>>()
  for (const [index, key] of keysOf(prefix).entries()) {
    const name = KEY_NAMES[index] as KeyName
    const type = await client.type(key)
    if (type === 'hash') {
      const all = new Map<string, Buffer>()
      for (let cursor = '0'; ; ) {
        const [next, page] = (await client.hscanBuffer(key, cursor, 'COUNT', PAGE)) as [Buffer, Buffer[]]
        for (let at = 0; at < page.length; at += 2) {
          all.set((page[at] as Buffer).toString('latin1'), page[at + 1] as Buffer)
        }
        cursor = next.toString()
        if (cursor === '0') break
      }
      // It belongs to no job, and keeps the hash from being a small one.
      all.delete('')
      hashes.set(name, all)
    } else if (type === 'zset') {
      const all = new Set<string>()
      for (let at = 0; ; at += PAGE) {
        const page = (await client.zrangeBuffer(key, String(at), String(at + PAGE - 1))) as Buffer[]
        for (const member of page) {
          for (const one of name === 'ready' ? alone(member.toString('latin1')) : [member.toString('latin1')])
            all.add(one)
        }
        if (page.length < PAGE) break
      }
      if (name === 'ready') checkOrder(all)
      sets.set(name, all)
    } else if (type !== 'none') throw new Error(`The key ${key} is a ${type}.`)
  }
  return { hashes, sets }
}

/** The jobs of a member of `ready`, each as if it were one by itself. Of the default lane several may be on a sheet. */
function alone(member: string): string[] {
  if (member[4] !== '\0') return [member]
  return (member.slice(13).match(/[\s\S]{16}/g) ?? []).map((id) => member.slice(0, 13) + id)
}

/** No sheet reaches over another job. */
function checkOrder(members: ReadonlySet<string>): void {
  let before = ''
  for (const member of members) {
    if (member <= before) throw new Error('The ready jobs are not in the order of their places.')
    before = member
  }
}

/** The number at a place, as `lua/bytes.ts` writes it. */
export function numberAt(text: string, at = 0): number {
  const bytes = Buffer.from(text.slice(at, at + 8), 'latin1')
  const first = bytes[0] as number
  if (first >= 128) bytes[0] = first - 128
  else for (let i = 0; i < 8; i++) bytes[i] = 255 - (bytes[i] as number)
  return bytes.readDoubleBE(0)
}

/** A number as `lua/bytes.ts` writes it. */
export function numberBytes(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  if (value >= 0) bytes[0] = (bytes[0] as number) + 128
  else for (let i = 0; i < 8; i++) bytes[i] = 255 - (bytes[i] as number)
  return bytes.toString('latin1')
}

export function queueBytes(q: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(q)
  return bytes.toString('latin1')
}

export function queueAt(text: string, at = 0): number {
  return Buffer.from(text.slice(at, at + 4), 'latin1').readUInt32BE(0)
}

/** The key of a job by its id and its queue. */
export function keyIn(contents: Contents, q: number, id: string): string {
  for (const [name, number] of hashOf(contents, 'names')) {
    if (!name.startsWith('\0') && number.toString() === String(q))
      return id + tagOf(name.slice(0, name.indexOf('\0')))
  }
  return id
}

/** The id in the key of a job. */
export function idIn(key: string): string {
  return key.slice(0, 16)
}

/** Text as people write it, in bytes. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export function textIn(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}

/** The id of a job as people write it: of an id, or of a job's key. */
export function uuidIn(id: string): string {
  const hex = Buffer.from(id.slice(0, 16), 'latin1').toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export interface StoredJob {
  readonly q: number
  readonly enqueuedAt: number
  readonly mark: number
  readonly member: readonly [group: string, n: number] | null
  readonly more: More
}

export function jobIn(record: Buffer): StoredJob {
  const { enqueuedAt, member, more } = readRecord(record)
  return { q: record.readUInt32BE(1), enqueuedAt, mark: record[0] as number, member, more }
}

export interface StoredLease {
  readonly until: number
  readonly q: number
  readonly mark: number
  readonly token: string
}

export function leaseIn(value: Buffer): StoredLease {
  const text = value.toString('latin1')
  return { until: numberAt(text), q: queueAt(text, 8), mark: text.charCodeAt(12), token: text.slice(13) }
}

export interface StoredClaim {
  readonly bound: number
  readonly started: number
  readonly worker: string
  readonly ids: readonly string[]
}

export function claimIn(value: Buffer): StoredClaim {
  const text = value.toString('latin1')
  const end = 18 + value.readUInt16BE(16)
  const ids = text.slice(end).match(/[\s\S]{16}/g) ?? []
  return { bound: numberAt(text), started: numberAt(text, 8), worker: text.slice(18, end), ids }
}
