import { statSync } from 'node:fs'
import { bytesText } from '../../core/words.ts'
import type { StoreFinding } from '../../store.ts'
import type { Database } from './database.ts'

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
  return findings
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
