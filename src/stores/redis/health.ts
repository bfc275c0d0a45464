import { bytesText } from '../../core/format.ts'
import type { StoreFinding } from '../../store/store.ts'
import { type Askable, serverInfo } from './durability.ts'

/** A server that is so full is about to refuse jobs. */
const FULL = 0.9

/** What the servers keep in memory, and whether they can still write it down. */
export async function examineServers(servers: readonly Askable[]): Promise<readonly StoreFinding[]> {
  const all = await Promise.all(servers.map(serverInfo))
  return all.flatMap((info, at) =>
    info === null ? [] : findingsOf(info, all.length === 1 ? '' : ` (${at + 1})`),
  )
}

function findingsOf(info: Readonly<Record<string, string>>, which: string): StoreFinding[] {
  const name = 'storage'
  const [used, most] = [Number(info['used_memory'] ?? 0), Number(info['maxmemory'] ?? 0)]
  const of = most === 0 ? '' : ` of ${bytesText(most)}`
  const text = `the server${which} has ${bytesText(used)}${of} in memory, with all that is not ours`
  const findings: StoreFinding[] = [{ name, status: 'ok', text, fix: null }]
  const warn = (problem: string, fix: string): void => {
    findings.push({ name, status: 'warn', text: `the server${which} ${problem}`, fix })
  }
  if (most > 0 && used > most * FULL) {
    warn('is nearly full, and refuses jobs when it is', `Give it more: CONFIG SET maxmemory ${most * 2}`)
  }
  if (Number(info['evicted_keys'] ?? 0) > 0) {
    warn(
      `has thrown ${info['evicted_keys']} keys away because its memory was full`,
      'Let it refuse instead: CONFIG SET maxmemory-policy noeviction',
    )
  }
  if (info['aof_last_write_status'] === 'err') {
    warn('could not write its log, so it takes no more jobs', 'See whether its disk is full.')
  }
  if (info['aof_last_bgrewrite_status'] === 'err') {
    warn(
      'could not make its log short again, so that grows',
      'See its log for why, and then: redis-cli BGREWRITEAOF',
    )
  }
  return findings
}
