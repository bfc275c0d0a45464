import { isFinal } from '../../core/job.ts'
import type { ExtendCall, ExtendReply, ExtendResult } from '../../store.ts'
import { find } from './record.ts'
import type { Turn } from './turn.ts'

export function extend(turn: Turn, call: ExtendCall, now: number): ExtendReply {
  return {
    results: call.leases.map(({ space, id, token }) => extendOne(turn, space, id, token, now + call.leaseMs)),
  }
}

function extendOne(turn: Turn, space: string, id: string, token: string, until: number): ExtendResult {
  const { db, held } = turn
  const known = held.find(token, space, id)?.numbers.get(id)
  const n = known ?? db.get('select n from skep_jobs where id = ? and space = ?', id, space)?.[0]
  if (n !== undefined) {
    const lease = db.get(
      'update skep_leases set until = ? where n = ? and token = ? returning cancel_reason',
      until,
      n,
      token,
    )
    if (lease) return { status: 'ok', cancelReason: lease[0] as string | null }
  }
  const job = find(turn, space, id)?.job
  return { status: 'refused', reason: job === undefined || isFinal(job.state) ? 'gone' : 'lost' }
}
