/** The process behind a {@link PowerDisk}: it must not be the one that uses the disk, which waits while it is served. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../../src/testing/random.ts'
import * as fuse from './fuse.ts'
import type { CutPlan, DiskCommand, DiskMessage, SyncFault } from './power-disk.ts'
import { FileError, type Node, PowerFiles } from './power-files.ts'

let files = new PowerFiles()
const folder = process.argv[2] as string
let mounted: fuse.FuseMount | null = null
/** `cut`: nobody gets an answer any more. `dead`: everybody gets an error, so that the killed can go. */
let power: 'on' | 'cut' | 'dead' = 'on'
let plan: CutPlan | null = null
let faults: SyncFault[] = []
let changes = 0

const CHANGES: ReadonlySet<number> = new Set([
  fuse.OP.SETATTR,
  fuse.OP.MKDIR,
  fuse.OP.UNLINK,
  fuse.OP.RMDIR,
  fuse.OP.RENAME,
  fuse.OP.RENAME2,
  fuse.OP.WRITE,
  fuse.OP.FSYNC,
  fuse.OP.FSYNCDIR,
  fuse.OP.CREATE,
])

function answer(request: fuse.FuseRequest): fuse.FuseAnswer {
  if (power === 'cut') return 'hold'
  if (power === 'dead') return fuse.ERRNO.EIO
  const isChange = CHANGES.has(request.opcode)
  const isLast = isChange && plan !== null && ++changes >= plan.afterChanges
  if (isLast && plan?.beforeTheLast) return cut()
  const reply = carryOut(request)
  return isLast ? cut() : reply
}

/** The moment of the power cut: what survives is decided, and nobody hears of anything any more. */
function cut(): 'hold' {
  const { mode, seed } = plan ?? { mode: 'mix' as const, seed: 1 }
  power = 'cut'
  const report = files.cut(mode, seededRandom(seed).next)
  tell({ kind: 'cut', report: { ...report, changes } })
  return 'hold'
}

function carryOut(request: fuse.FuseRequest): Buffer | number {
  try {
    return respond(request)
  } catch (error) {
    if (error instanceof FileError) return error.errno
    throw error
  }
}

const DONE = Buffer.alloc(0)

function respond({ opcode, node, body }: fuse.FuseRequest): Buffer | number {
  switch (opcode) {
    case fuse.OP.LOOKUP:
      return fuse.entryAnswer(attributesOf(files.find(node, fuse.namesAt(body, 0)[0] as string)))
    case fuse.OP.GETATTR:
      return fuse.attributesAnswer(attributesOf(files.node(node)))
    case fuse.OP.SETATTR: {
      const size = fuse.newSize(body)
      if (size !== null) files.truncate(node, size)
      return fuse.attributesAnswer(attributesOf(files.node(node)))
    }
    case fuse.OP.MKDIR:
      return fuse.entryAnswer(attributesOf(files.create(node, fuse.namesAt(body, 8)[0] as string, 'folder')))
    case fuse.OP.CREATE:
      return fuse.createAnswer(attributesOf(files.create(node, fuse.namesAt(body, 16)[0] as string, 'file')))
    case fuse.OP.UNLINK:
      files.remove(node, fuse.namesAt(body, 0)[0] as string, 'file')
      return DONE
    case fuse.OP.RMDIR:
      files.remove(node, fuse.namesAt(body, 0)[0] as string, 'folder')
      return DONE
    case fuse.OP.RENAME:
    case fuse.OP.RENAME2: {
      const [from, to] = fuse.namesAt(body, opcode === fuse.OP.RENAME ? 8 : 16) as [string, string]
      files.rename(node, from, Number(body.readBigUInt64LE(0)), to)
      return DONE
    }
    case fuse.OP.READ: {
      const { offset, bytes } = fuse.readSpan(body)
      return files.file(node).current.read(offset, bytes)
    }
    case fuse.OP.WRITE: {
      const { offset, data } = fuse.writeSpan(body)
      files.write(node, offset, data)
      return fuse.writeAnswer(data.length)
    }
    case fuse.OP.FSYNC:
    case fuse.OP.FSYNCDIR:
      return sync(node)
    case fuse.OP.READDIR: {
      const { offset, bytes } = fuse.readSpan(body)
      const entries = [...files.folder(node).current].map(([name, ino]) => {
        return { name, ino, isFolder: files.node(ino).kind === 'folder' }
      })
      return fuse.listAnswer(entries, offset, bytes)
    }
    case fuse.OP.STATFS:
      return fuse.statfsAnswer()
    case fuse.OP.OPEN:
    case fuse.OP.OPENDIR:
      return fuse.openAnswer()
    case fuse.OP.FLUSH:
    case fuse.OP.RELEASE:
    case fuse.OP.RELEASEDIR:
    case fuse.OP.DESTROY:
      return DONE
    default:
      return fuse.ERRNO.ENOSYS
  }
}

function sync(ino: number): Buffer | number {
  const name = files.nameOf(ino)
  const fault = faults.find(({ file }) => file === name)
  if (!fault) {
    files.sync(ino)
    return DONE
  }
  faults = faults.filter((one) => one !== fault)
  files.failSync(ino)
  tell({ kind: 'sync-failed', file: name })
  return fuse.ERRNO.EIO
}

function attributesOf(node: Node): fuse.Attributes {
  const { ino, changedAtMs } = node
  return node.kind === 'file'
    ? { ino, changedAtMs, size: node.current.size, isFolder: false }
    : { ino, changedAtMs, size: 4096, isFolder: true }
}

const commands: { readonly [Kind in DiskCommand['kind']]: (command: never) => Promise<void> | void } = {
  async mount() {
    mounted = await fuse.mountFuse(folder, answer)
  },

  arm(command: Extract<DiskCommand, { kind: 'arm' }>) {
    plan = command.plan
    changes = 0
  },

  cutNow() {
    if (power === 'on') cut()
  },

  lie(command: Extract<DiskCommand, { kind: 'lie' }>) {
    files.ignoresSync = command.ignoresSync
  },

  failSync(command: Extract<DiskCommand, { kind: 'failSync' }>) {
    faults.push(command.fault)
  },

  copy(command: Extract<DiskCommand, { kind: 'copy' }>) {
    for (const { name, bytes } of files.rootFiles()) writeFileSync(join(command.to, name), bytes)
  },

  /** After a cut, when its victims have been killed: the power comes back. */
  async restore() {
    power = 'dead'
    mounted?.release(fuse.ERRNO.EIO)
    await mounted?.unmount()
    power = 'on'
    plan = null
    faults = []
    mounted = await fuse.mountFuse(folder, answer)
  },

  /** A new, empty disk in the place of this one, which nobody uses. */
  async replace() {
    await mounted?.unmount()
    const { ignoresSync } = files
    files = new PowerFiles()
    files.ignoresSync = ignoresSync
    power = 'on'
    plan = null
    faults = []
    mounted = await fuse.mountFuse(folder, answer)
  },

  /** Lets go of those who wait, so that they can die. */
  release() {
    power = 'dead'
    mounted?.release(fuse.ERRNO.EIO)
  },

  async unmount() {
    power = 'dead'
    mounted?.release(fuse.ERRNO.EIO)
    await mounted?.unmount()
    process.disconnect()
  },
}

function tell(message: DiskMessage): void {
  if (process.connected) process.send?.(message)
}

async function obey(number: number, command: DiskCommand): Promise<void> {
  try {
    await commands[command.kind](command as never)
    tell({ kind: 'done', number, error: null })
  } catch (error) {
    tell({ kind: 'done', number, error: error instanceof Error ? error.message : String(error) })
  }
}

process.on(
  'message',
  ({ number, command }: { number: number; command: DiskCommand }) => void obey(number, command),
)
// Whoever asked for the disk is gone. A plain exit would wait for ever: a thread of ours reads from the device.
process.on('disconnect', () => {
  spawnSync('umount', ['-f', '-l', '--no-canonicalize', folder], { stdio: 'ignore', timeout: 5_000 })
  process.kill(process.pid, 'SIGKILL')
})
tell({ kind: 'started' })
