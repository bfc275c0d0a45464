import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Store, WorkerInfo, WorkerPresence } from '../../store/store.ts'
import type { Turn } from './connection/write-batch.ts'

const ATTEND = `
  insert or replace into skep_workers (id, space, host, pid, queues, concurrency, running, started_at, seen_at,
    vitals, machine, process_start)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function attend(turn: Turn, worker: WorkerInfo, now: number): void {
  const { machine, start } = identityOf(worker.pid)
  turn.db.run(
    ATTEND,
    worker.id,
    worker.space,
    worker.host,
    worker.pid,
    JSON.stringify(worker.queues),
    worker.concurrency,
    worker.running,
    worker.startedAt,
    now,
    worker.vitals,
    machine,
    start,
  )
}

export function depart(turn: Turn, workerId: string): void {
  turn.db.run('delete from skep_workers where id = ?', workerId)
}

type WorkersCall = Parameters<Store['workers']>[0]

export function workers(
  turn: Pick<Turn, 'db'>,
  { space, ids }: WorkersCall,
): { readonly workers: readonly WorkerPresence[] } {
  const rows = turn.db.all(
    `select id, space, host, pid, queues, concurrency, running, started_at, seen_at, vitals, machine,
       process_start
     from skep_workers where space = coalesce(?, space)
       ${ids === undefined ? '' : 'and id in (select value from json_each(?))'} order by id`,
    space ?? null,
    ...(ids === undefined ? [] : [JSON.stringify(ids)]),
  )
  return {
    workers: rows.map((row): WorkerPresence => {
      const [
        id,
        inSpace,
        host,
        pid,
        queues,
        concurrency,
        running,
        startedAt,
        seenAt,
        vitals,
        machine,
        start,
      ] = row
      return {
        id: id as string,
        space: inSpace as string,
        host: host as string,
        pid: pid as number,
        queues: JSON.parse(queues as string) as string[],
        concurrency: concurrency as number,
        running: running as number,
        startedAt: startedAt as number,
        vitals: vitals as string,
        seenAt: seenAt as number,
        life: lifeOf(host as string, pid as number, {
          machine: machine as string | null,
          start: start as string | null,
        }),
      }
    }),
  }
}

/** Which process a worker is, so that another one can tell whether it still lives. */
export interface ProcessIdentity {
  /**
   * The running system and its space of process ids; null where that cannot be told. Two containers may share a
   * host name, and a process id says nothing outside its own container.
   */
  readonly machine: string | null
  /** When the process started, in the system's own unit; null where that cannot be told. */
  readonly start: string | null
}

let machine: string | null | undefined

export function identityOf(pid: number): ProcessIdentity {
  return { machine: thisMachine(), start: startOf(pid) }
}

/** What can be said from here about a worker's process. */
export function lifeOf(host: string, pid: number, identity: ProcessIdentity): 'here' | 'gone' | 'unsure' {
  if (host !== hostname() || identity.machine !== thisMachine()) return 'unsure'
  if (!exists(pid)) return 'gone'
  // A process id is given to another process some time after its own has ended.
  const start = startOf(pid)
  if (identity.start === null || start === null) return 'unsure'
  return start === identity.start ? 'here' : 'gone'
}

function thisMachine(): string | null {
  machine ??= attempt(
    () =>
      `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`,
  )
  return machine
}

let ownStart: string | null | undefined

function startOf(pid: number): string | null {
  if (pid !== process.pid) return readStart(pid)
  ownStart ??= readStart(pid)
  return ownStart
}

function readStart(pid: number): string | null {
  return attempt(() => {
    // The second field is the program's name in brackets and may hold anything, so the count begins after it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null)
  })
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not allowed to signal it: so it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
