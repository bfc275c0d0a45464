/**
 * A file system in user space, as the Linux kernel speaks to one: it reads requests from /dev/fuse and writes the
 * answers there. Only what SQLite and a test need is understood. Needs root and no package: `mount` gets the open
 * device from us.
 */
import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync, read, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { promisify } from 'node:util'

/** What the kernel asks for, by the names of its protocol. */
export const OP = {
  LOOKUP: 1,
  FORGET: 2,
  GETATTR: 3,
  SETATTR: 4,
  MKDIR: 9,
  UNLINK: 10,
  RMDIR: 11,
  RENAME: 12,
  OPEN: 14,
  READ: 15,
  WRITE: 16,
  STATFS: 17,
  RELEASE: 18,
  FSYNC: 20,
  FLUSH: 25,
  INIT: 26,
  OPENDIR: 27,
  READDIR: 28,
  RELEASEDIR: 29,
  FSYNCDIR: 30,
  CREATE: 35,
  INTERRUPT: 36,
  DESTROY: 38,
  BATCH_FORGET: 42,
  RENAME2: 45,
} as const

export const ERRNO = constants.errno

/** Requests that the kernel wants no answer to. */
const UNANSWERED: ReadonlySet<number> = new Set([OP.FORGET, OP.BATCH_FORGET, OP.INTERRUPT])

const MAX_WRITE = 128 * 1024
const IN_HEADER = 40
const OUT_HEADER = 16
/** The version of the protocol whose layouts are used here; the kernel adapts to it. */
const MAJOR = 7
const MINOR = 31
const INIT_OUT_BYTES = 64
const BIG_WRITES = 1 << 5

export interface FuseRequest {
  readonly opcode: number
  readonly unique: bigint
  /** The inode it is about. */
  readonly node: number
  /** What follows the header; its own copy. */
  readonly body: Buffer
}

/** The bytes of an answer, or the number of an error. `hold`: nobody is answered until `release`. */
export type FuseAnswer = Buffer | number | 'hold'

export interface FuseMount {
  /** Answers all requests that were held with this error. */
  release(errno: number): void
  unmount(): Promise<void>
}

/** Mounts at `folder` a file system that answers as `answer` says. */
export async function mountFuse(
  folder: string,
  answer: (request: FuseRequest) => FuseAnswer,
): Promise<FuseMount> {
  const device = openSync('/dev/fuse', 'r+')
  try {
    await mount(folder, device)
  } catch (error) {
    closeSync(device)
    throw error
  }
  const held: bigint[] = []
  const served = serve(device, (request) => {
    if (request.opcode === OP.INIT) return initAnswer()
    const reply = answer(request)
    if (reply === 'hold') held.push(request.unique)
    return reply
  })
  return {
    release(errno) {
      for (const unique of held.splice(0)) send(device, unique, errno)
    },
    async unmount() {
      await promisify(execFile)('umount', ['--no-canonicalize', folder])
      await served
      closeSync(device)
    },
  }
}

function mount(folder: string, device: number): Promise<void> {
  const options = `fd=3,rootmode=40000,user_id=0,group_id=0,max_read=${MAX_WRITE}`
  // `-i`: without the helper of the fuse package, which would open a device of its own.
  const child = spawn('mount', ['-i', '-t', 'fuse', '-o', options, 'power-disk', folder], {
    stdio: ['ignore', 'ignore', 'pipe', device],
  })
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (data) => {
      said += String(data)
    })
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(said.trim() || `mount: ${code}`)),
    )
  })
}

/** Reads and answers, one request at a time, until the file system is unmounted. */
async function serve(device: number, answer: (request: FuseRequest) => FuseAnswer): Promise<void> {
  const buffer = Buffer.alloc(MAX_WRITE + 4096)
  for (;;) {
    const bytes = await readRequest(device, buffer)
    if (bytes === null) return
    const request = {
      opcode: buffer.readUInt32LE(4),
      unique: buffer.readBigUInt64LE(8),
      node: Number(buffer.readBigUInt64LE(16)),
      body: Buffer.from(buffer.subarray(IN_HEADER, bytes)),
    }
    if (UNANSWERED.has(request.opcode)) continue
    const reply = answer(request)
    if (reply !== 'hold') send(device, request.unique, reply)
  }
}

/** The length of the next request; null when the file system was unmounted. */
function readRequest(device: number, buffer: Buffer): Promise<number | null> {
  return new Promise((resolve, reject) => {
    read(device, buffer, 0, buffer.length, null, (error, bytes) => {
      if (!error) return resolve(bytes)
      if (error.code === 'ENODEV' || error.code === 'EBADF') return resolve(null)
      // A request that was taken back while it was being read, or a signal: the next one comes.
      if (error.code === 'ENOENT' || error.code === 'EINTR' || error.code === 'EAGAIN')
        return resolve(readRequest(device, buffer))
      reject(error)
    })
  })
}

function send(device: number, unique: bigint, reply: Buffer | number): void {
  const body = typeof reply === 'number' ? Buffer.alloc(0) : reply
  const header = Buffer.alloc(OUT_HEADER)
  header.writeUInt32LE(OUT_HEADER + body.length, 0)
  header.writeInt32LE(typeof reply === 'number' ? -reply : 0, 4)
  header.writeBigUInt64LE(unique, 8)
  try {
    writeSync(device, Buffer.concat([header, body]))
  } catch (error) {
    // The one who asked was killed meanwhile, or everything was unmounted.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENODEV' && code !== 'EPERM') throw error
  }
}

function initAnswer(): Buffer {
  const body = Buffer.alloc(INIT_OUT_BYTES)
  body.writeUInt32LE(MAJOR, 0)
  body.writeUInt32LE(MINOR, 4)
  body.writeUInt32LE(MAX_WRITE, 8)
  body.writeUInt32LE(BIG_WRITES, 12)
  body.writeUInt32LE(MAX_WRITE, 20)
  body.writeUInt32LE(1, 24)
  return body
}

// ── layouts of answers and requests ──────────────────────────────────────────────────────────────

export interface Attributes {
  readonly ino: number
  readonly size: number
  readonly isFolder: boolean
  readonly changedAtMs: number
}

/** Nobody but the kernel changes anything, so what it knows stays true. */
const VALID_SECONDS = 3_600n
const S_IFDIR = 0o040000
const S_IFREG = 0o100000

/** The answer to LOOKUP and MKDIR. */
export function entryAnswer(attributes: Attributes): Buffer {
  const head = Buffer.alloc(40)
  head.writeBigUInt64LE(BigInt(attributes.ino), 0)
  head.writeBigUInt64LE(VALID_SECONDS, 16)
  head.writeBigUInt64LE(VALID_SECONDS, 24)
  return Buffer.concat([head, attributeBytes(attributes)])
}

/** The answer to CREATE. */
export function createAnswer(attributes: Attributes): Buffer {
  return Buffer.concat([entryAnswer(attributes), openAnswer()])
}

/** The answer to GETATTR and SETATTR. */
export function attributesAnswer(attributes: Attributes): Buffer {
  const head = Buffer.alloc(16)
  head.writeBigUInt64LE(VALID_SECONDS, 0)
  return Buffer.concat([head, attributeBytes(attributes)])
}

function attributeBytes({ ino, size, isFolder, changedAtMs }: Attributes): Buffer {
  const bytes = Buffer.alloc(88)
  bytes.writeBigUInt64LE(BigInt(ino), 0)
  bytes.writeBigUInt64LE(BigInt(size), 8)
  bytes.writeBigUInt64LE(BigInt(Math.ceil(size / 512)), 16)
  for (const [at, nanosecondsAt] of [
    [24, 48],
    [32, 52],
    [40, 56],
  ] as const) {
    bytes.writeBigUInt64LE(BigInt(Math.floor(changedAtMs / 1_000)), at)
    bytes.writeUInt32LE((changedAtMs % 1_000) * 1_000_000, nanosecondsAt)
  }
  bytes.writeUInt32LE(isFolder ? S_IFDIR | 0o755 : S_IFREG | 0o644, 60)
  bytes.writeUInt32LE(isFolder ? 2 : 1, 64)
  bytes.writeUInt32LE(4096, 80)
  return bytes
}

/** The answer to OPEN and OPENDIR. Not direct, so that files can be mapped into memory. */
export function openAnswer(): Buffer {
  return Buffer.alloc(16)
}

export function writeAnswer(bytes: number): Buffer {
  const body = Buffer.alloc(8)
  body.writeUInt32LE(bytes, 0)
  return body
}

/** A disk of 4 GiB with much room. */
export function statfsAnswer(): Buffer {
  const body = Buffer.alloc(80)
  for (const at of [0, 8, 16]) body.writeBigUInt64LE(1_048_576n, at)
  for (const at of [24, 32]) body.writeBigUInt64LE(100_000n, at)
  body.writeUInt32LE(4096, 40)
  body.writeUInt32LE(255, 44)
  body.writeUInt32LE(4096, 48)
  return body
}

/** The part of a folder's list that begins at `offset` and fits. */
export function listAnswer(
  entries: readonly { readonly name: string; readonly ino: number; readonly isFolder: boolean }[],
  offset: number,
  mostBytes: number,
): Buffer {
  const parts: Buffer[] = []
  let bytes = 0
  for (const [index, { name, ino, isFolder }] of entries.entries()) {
    if (index < offset) continue
    const nameBytes = Buffer.from(name)
    const entry = Buffer.alloc(24 + Math.ceil(nameBytes.length / 8) * 8)
    entry.writeBigUInt64LE(BigInt(ino), 0)
    entry.writeBigUInt64LE(BigInt(index + 1), 8)
    entry.writeUInt32LE(nameBytes.length, 16)
    entry.writeUInt32LE((isFolder ? S_IFDIR : S_IFREG) >> 12, 20)
    nameBytes.copy(entry, 24)
    if (bytes + entry.length > mostBytes) break
    bytes += entry.length
    parts.push(entry)
  }
  return Buffer.concat(parts)
}

/** READ, READDIR: from where, and how much. */
export function readSpan(body: Buffer): { readonly offset: number; readonly bytes: number } {
  return { offset: Number(body.readBigUInt64LE(8)), bytes: body.readUInt32LE(16) }
}

/** WRITE: where, and what. */
export function writeSpan(body: Buffer): { readonly offset: number; readonly data: Buffer } {
  return { offset: Number(body.readBigUInt64LE(8)), data: body.subarray(40, 40 + body.readUInt32LE(16)) }
}

/** SETATTR: the new size, if it is to change. */
export function newSize(body: Buffer): number | null {
  const sizeIsGiven = (body.readUInt32LE(0) & (1 << 3)) !== 0
  return sizeIsGiven ? Number(body.readBigUInt64LE(16)) : null
}

/** The names that end a request, after `from` bytes. */
export function namesAt(body: Buffer, from: number): string[] {
  return body.subarray(from).toString('utf8').split('\0')
}
