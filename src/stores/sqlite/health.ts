import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { bytesText } from '../../core/format.ts'
import type { StoreFinding } from '../../store/store.ts'
import type { Database } from './connection/database.ts'

/** So much is worth a word. */
const LARGE_BYTES = 256 * 1_024 * 1_024

/** What the file takes, how much of that is empty, and whether its log is emptied. */
export async function examineFile(database: Database): Promise<readonly StoreFinding[]> {
  const { size, free } = await database.read(({ db }) => {
    const number = (pragma: string): number => Number(Object.values(db.get(`PRAGMA ${pragma}`) ?? {})[0] ?? 0)
    const page = number('page_size')
    return { size: number('page_count') * page, free: number('freelist_count') * page }
  })
  const log = database.path === null ? 0 : bytesOf(`${database.path}-wal`)
  const text = `${bytesText(size)}, ${bytesText(free)} of it free for new jobs; ${bytesText(log)} of log`
  const findings: StoreFinding[] = [{ name: 'storage', status: 'ok', text, fix: null }]
  if (free > LARGE_BYTES && free > size / 2) {
    findings.push({
      name: 'storage',
      status: 'warn',
      text: 'most of the file is empty',
      fix: 'It is used again. To give it back, while nothing else uses the file: VACUUM;',
    })
  }
  if (log > LARGE_BYTES) {
    findings.push({
      name: 'storage',
      status: 'warn',
      text: `the log has grown to ${bytesText(log)}: some program has been reading for a long time`,
      fix: 'End that program, and then: PRAGMA wal_checkpoint(TRUNCATE);',
    })
  }
  findings.push(...replacedFile(database))
  return findings
}

/** Jobs that are written to a file without a name are gone when its last process closes it. */
function replacedFile(database: Database): StoreFinding[] {
  const { path } = database
  if (path === null) return []
  const finding = (text: string, fix: string): StoreFinding => ({ name: 'file', status: 'warn', text, fix })
  if (database.isReplaced()) {
    return [
      finding(
        `"${path}" was replaced or removed while this process has it open: its jobs go to the old file`,
        'Restart this process. Stop every process before you restore a backup.',
      ),
    ]
  }
  const pids = holdersOfDeleted(path)
  if (pids.length === 0) return []
  const processes = pids.length === 1 ? `Process ${pids[0]} has` : `Processes ${pids.join(', ')} have`
  return [
    finding(
      `${processes} the former file at "${path}" open: their jobs go to a file that no longer has a name`,
      'Restart them. Stop every process before you restore a backup.',
    ),
  ]
}

/** The processes that have a deleted file of this name open, as far as this user may see (Linux only). */
function holdersOfDeleted(path: string): string[] {
  const target = `${path} (deleted)`
  return list('/proc').filter(
    (pid) =>
      /^\d+$/.test(pid) && list(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === target),
  )
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
