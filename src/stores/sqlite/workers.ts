import type { WorkerInfo, WorkerPresence } from '../../store.ts'
import { identityOf, lifeOf } from './liveness.ts'
import type { Turn } from './turn.ts'

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

export function workers(
  turn: Pick<Turn, 'db'>,
  space: string | undefined,
): { readonly workers: readonly WorkerPresence[] } {
  const rows = turn.db.all(
    `select id, space, host, pid, queues, concurrency, running, started_at, seen_at, vitals, machine,
       process_start
     from skep_workers where space = coalesce(?, space) order by id`,
    space ?? null,
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
