/**
 * Files on a disk that can lose its power.
 *
 * What programs see is the `current` state. What is certain to be there after a power cut is the `safe` one: it
 * advances only by a sync. Everything in between waits in `pending`, and a cut decides about each such change by
 * itself, in any combination: forgotten, kept, or torn, which means that only some sectors of a write were reached.
 * That is more than real disks do, and all that POSIX lets them.
 *
 * A sync of a file covers its content and size. Names (made, removed, renamed) are covered by a sync of their folder
 * alone.
 */
import { ERRNO } from './fuse.ts'

/** `forget`: all that was not synced is gone. `keep`: all of it is there. `mix`: each change has its own fate. */
export type CutMode = 'forget' | 'keep' | 'mix'

/** What a cut met. */
export interface CutReport {
  readonly mode: CutMode
  /** Changes that were not synced, by the name of the file or folder (`.` is the root). */
  readonly pending: Readonly<Record<string, number>>
  readonly forgotten: number
  readonly kept: number
  readonly torn: number
}

export const ROOT = 1
const SECTOR = 512

type FileChange =
  | { readonly kind: 'write'; readonly offset: number; readonly data: Buffer }
  | { readonly kind: 'truncate'; readonly size: number }

/** All of it happens or none, as in a journal of names: a rename never leaves two names, or none. */
type FolderChange = readonly (readonly [name: string, ino: number | null])[]

export interface FileNode {
  readonly kind: 'file'
  readonly ino: number
  changedAtMs: number
  readonly current: Content
  readonly safe: Content
  pending: FileChange[]
}

export interface FolderNode {
  readonly kind: 'folder'
  readonly ino: number
  changedAtMs: number
  readonly current: Map<string, number>
  readonly safe: Map<string, number>
  pending: FolderChange[]
}

export type Node = FileNode | FolderNode

/** An error by its number, as a file system answers. */
export class FileError extends Error {
  readonly errno: number

  constructor(errno: number) {
    super(`errno ${errno}`)
    this.errno = errno
  }
}

export class PowerFiles {
  /** Says yes to syncs and does nothing, as a lying disk would: for experiments that have to fail. */
  ignoresSync = false
  readonly #nodes = new Map<number, Node>()
  #nextIno = ROOT + 1

  constructor() {
    this.#nodes.set(ROOT, newFolder(ROOT))
  }

  node(ino: number): Node {
    const node = this.#nodes.get(ino)
    if (!node) throw new FileError(ERRNO.ENOENT)
    return node
  }

  file(ino: number): FileNode {
    const node = this.node(ino)
    if (node.kind !== 'file') throw new FileError(ERRNO.EISDIR)
    return node
  }

  folder(ino: number): FolderNode {
    const node = this.node(ino)
    if (node.kind !== 'folder') throw new FileError(ERRNO.ENOTDIR)
    return node
  }

  find(parent: number, name: string): Node {
    const ino = this.folder(parent).current.get(name)
    if (ino === undefined) throw new FileError(ERRNO.ENOENT)
    return this.node(ino)
  }

  /** The name under which a file or folder is known now. */
  nameOf(ino: number): string {
    if (ino === ROOT) return '.'
    for (const node of this.#nodes.values()) {
      if (node.kind === 'file') continue
      for (const [name, at] of node.current) if (at === ino) return name
    }
    return '(removed)'
  }

  create(parent: number, name: string, kind: 'file' | 'folder'): Node {
    const folder = this.folder(parent)
    if (folder.current.has(name)) throw new FileError(ERRNO.EEXIST)
    const ino = this.#nextIno++
    const node = kind === 'file' ? newFile(ino) : newFolder(ino)
    this.#nodes.set(ino, node)
    change(folder, [[name, ino]])
    return node
  }

  remove(parent: number, name: string, kind: 'file' | 'folder'): void {
    const node = this.find(parent, name)
    if (kind === 'folder' && this.folder(node.ino).current.size > 0) throw new FileError(ERRNO.ENOTEMPTY)
    change(this.folder(parent), [[name, null]])
  }

  rename(parent: number, from: string, toParent: number, to: string): void {
    if (parent !== toParent) throw new FileError(ERRNO.EXDEV)
    const { ino } = this.find(parent, from)
    change(this.folder(parent), [
      [from, null],
      [to, ino],
    ])
  }

  write(ino: number, offset: number, data: Buffer): void {
    const file = this.file(ino)
    file.current.write(offset, data)
    file.pending.push({ kind: 'write', offset, data: Buffer.from(data) })
    file.changedAtMs = Date.now()
  }

  truncate(ino: number, size: number): void {
    const file = this.file(ino)
    file.current.truncate(size)
    file.pending.push({ kind: 'truncate', size })
    file.changedAtMs = Date.now()
  }

  /** Makes safe what is pending. */
  sync(ino: number): void {
    if (this.ignoresSync) return
    const node = this.node(ino)
    if (node.kind === 'file') for (const one of node.pending) applyToFile(node.safe, one)
    else for (const one of node.pending) applyToFolder(node.safe, one)
    node.pending = []
  }

  /**
   * A sync that fails, as Linux does it: what was pending is still seen by programs, but it will never be written,
   * and the next sync knows nothing of it and succeeds.
   */
  failSync(ino: number): void {
    this.node(ino).pending = []
  }

  /** The disk loses its power: what is here now is all there is, and all of it is safe. `random` is in [0, 1). */
  cut(mode: CutMode, random: () => number): CutReport {
    const count = { forgotten: 0, kept: 0, torn: 0 }
    const pending: Record<string, number> = {}
    for (const node of this.#nodes.values()) {
      if (node.pending.length > 0) pending[this.nameOf(node.ino)] = node.pending.length
    }
    const fate = (canTear: boolean): 'forgotten' | 'kept' | 'torn' => {
      const chosen = mode === 'forget' ? 'forgotten' : mode === 'keep' ? 'kept' : anyFate(canTear, random)
      count[chosen]++
      return chosen
    }
    for (const node of this.#nodes.values()) {
      if (node.kind === 'folder') {
        for (const one of node.pending) if (fate(false) === 'kept') applyToFolder(node.safe, one)
        node.current.clear()
        for (const [name, ino] of node.safe) node.current.set(name, ino)
      } else {
        for (const one of node.pending) {
          const chosen = fate(one.kind === 'write')
          if (chosen === 'kept') applyToFile(node.safe, one)
          else if (chosen === 'torn' && one.kind === 'write') tear(node.safe, one, random)
        }
        node.current.become(node.safe)
      }
      node.pending = []
    }
    this.#forgetUnreachable()
    return { mode, pending, ...count }
  }

  /** Removes what no name leads to. */
  #forgetUnreachable(): void {
    const reachable = new Set<number>()
    const walk = (ino: number): void => {
      reachable.add(ino)
      const node = this.node(ino)
      if (node.kind === 'folder') for (const child of node.current.values()) walk(child)
    }
    walk(ROOT)
    for (const ino of this.#nodes.keys()) if (!reachable.has(ino)) this.#nodes.delete(ino)
  }

  /** The files of the root folder, as programs see them now. */
  *rootFiles(): Iterable<{ readonly name: string; readonly bytes: Buffer }> {
    for (const [name, ino] of this.folder(ROOT).current) {
      const node = this.node(ino)
      if (node.kind === 'file') yield { name, bytes: node.current.read(0, node.current.size) }
    }
  }
}

function newFile(ino: number): FileNode {
  const [current, safe] = [new Content(), new Content()]
  return { kind: 'file', ino, changedAtMs: Date.now(), current, safe, pending: [] }
}

function newFolder(ino: number): FolderNode {
  const [current, safe] = [new Map<string, number>(), new Map<string, number>()]
  return { kind: 'folder', ino, changedAtMs: Date.now(), current, safe, pending: [] }
}

function change(folder: FolderNode, one: FolderChange): void {
  applyToFolder(folder.current, one)
  folder.pending.push(one)
  folder.changedAtMs = Date.now()
}

function applyToFolder(names: Map<string, number>, one: FolderChange): void {
  for (const [name, ino] of one) {
    if (ino === null) names.delete(name)
    else names.set(name, ino)
  }
}

function applyToFile(content: Content, one: FileChange): void {
  if (one.kind === 'write') content.write(one.offset, one.data)
  else content.truncate(one.size)
}

function anyFate(canTear: boolean, random: () => number): 'forgotten' | 'kept' | 'torn' {
  const chance = random()
  if (canTear && chance < 0.25) return 'torn'
  return chance < 0.6 ? 'forgotten' : 'kept'
}

/** Writes some of the sectors that a write touches. */
function tear(content: Content, write: Extract<FileChange, { kind: 'write' }>, random: () => number): void {
  const end = write.offset + write.data.length
  for (let from = write.offset; from < end; ) {
    const to = Math.min(end, (Math.floor(from / SECTOR) + 1) * SECTOR)
    if (random() < 0.5) content.write(from, write.data.subarray(from - write.offset, to - write.offset))
    from = to
  }
}

/** Bytes that can grow. */
export class Content {
  #bytes: Buffer = Buffer.alloc(0)
  #size = 0

  get size(): number {
    return this.#size
  }

  read(offset: number, bytes: number): Buffer {
    return Buffer.from(this.#bytes.subarray(offset, Math.min(this.#size, offset + bytes)))
  }

  write(offset: number, data: Buffer): void {
    this.#grow(offset + data.length)
    data.copy(this.#bytes, offset)
    this.#size = Math.max(this.#size, offset + data.length)
  }

  truncate(size: number): void {
    this.#grow(size)
    // What is cut off must not come back when the file grows again.
    if (size < this.#size) this.#bytes.fill(0, size, this.#size)
    this.#size = size
  }

  become(other: Content): void {
    this.#bytes = other.read(0, other.size)
    this.#size = other.size
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return
    const larger = Buffer.alloc(Math.max(size, this.#bytes.length * 2, 4096))
    this.#bytes.copy(larger, 0, 0, this.#size)
    this.#bytes = larger
  }
}
