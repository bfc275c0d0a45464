import type { JobState, NewJob } from '../../core/job.ts'
import type { Verdict } from '../../core/policy.ts'
import type {
  ClaimCall,
  ClaimReply,
  ExtendCall,
  ExtendReply,
  ExtendResult,
  InsertCall,
  InsertReply,
  InsertResult,
  Refusal,
  SettleCall,
  Settlement,
  SettleReply,
  SettleResult,
  Source,
} from '../../store.ts'
import { listOf, numberOf, numberOrNull, type Reply, textOf, textOrNull, toBytes } from './bytes.ts'
import type { Caller } from './caller.ts'
import type { Argument } from './client.ts'
import { insertResult, withEnqueued } from './enqueued.ts'
import { sentGroup, sentMove, sentRun } from './flow-items.ts'
import { sentNote } from './notes.ts'
import { claimedOf, joined, moreOf, sentJob } from './records.ts'

/** How jobs come and go: what workers and whoever enqueues call. */
export function jobCalls(caller: Caller): {
  insert(call: InsertCall): Promise<InsertReply>
  claim(call: ClaimCall): Promise<ClaimReply>
  extend(call: ExtendCall): Promise<ExtendReply>
  settle(call: SettleCall): Promise<SettleReply>
} {
  return {
    async insert(call) {
      const reply = listOf(await caller.call('insert', insertArguments(call), call.now))
      return readInserted(reply, call.jobs)
    },

    async claim(call) {
      return readClaimed(await caller.call('claim', claimArguments(call), call.now), call)
    },

    async extend({ leases, leaseMs, now }) {
      const args: Argument[] = [String(leaseMs)]
      for (const { id, token } of leases) args.push(toBytes(id), token)
      const results = listOf(await caller.call('extend', args, now))
      return { results: results.map(readExtended) }
    },

    async settle(call) {
      const args: Argument[] = [String(call.settlements.length)]
      for (const settlement of call.settlements) {
        const { id, token, verdict } = settlement
        args.push(toBytes(id), token, verdictText(verdict))
        args.push(verdict.result === null ? '' : `=${verdict.result}`, moreText(settlement))
      }
      if (call.claim) args.push(...claimArguments(call.claim))
      const [, results, fired, claimed] = listOf(await caller.call('settle', args, call.now))
      return {
        results: listOf(results).map(readSettled),
        claimed: call.claim ? readClaimed(claimed as Reply, call.claim) : null,
        ...withEnqueued(fired),
      }
    },
  }
}

function insertArguments({ jobs, groups = [], runs = [], again, fresh }: InsertCall): Argument[] {
  const numbers = new Map<string, number>()
  const queues: string[] = []
  const rest: Argument[] = []
  for (const job of jobs) {
    const name = `${job.space}\0${job.queue}`
    let number = numbers.get(name)
    if (number === undefined) {
      number = numbers.size + 1
      numbers.set(name, number)
      queues.push(job.space, job.queue)
    }
    rest.push(toBytes(job.id), String(number), job.payload, moreOf(job))
  }
  const made =
    groups.length + runs.length === 0
      ? ''
      : JSON.stringify({ groups: groups.map(sentGroup), runs: runs.map(sentRun) })
  return [`${fresh ? 'f' : ''}${again ? 'a' : ''}`, made, String(numbers.size), ...queues, ...rest]
}

/** Only what is not simply ready now is told. */
function readInserted(reply: readonly Reply[], jobs: readonly NewJob[]): InsertReply {
  const ready: InsertResult = { status: 'ok', state: 'ready', dueAt: numberOf(reply[0]) }
  const results: InsertResult[] = jobs.map(() => ready)
  const special = listOf(reply[1])
  for (let at = 0; at < special.length; at += 4) {
    const [n, state, moment, action] = special.slice(at, at + 4) as [Reply, Reply, Reply, Reply]
    results[numberOf(n) - 1] = insertResult(state, moment, action)
  }
  return { results, ...withEnqueued(reply[2]) }
}

function claimArguments(call: Omit<ClaimCall, 'now'>): Argument[] {
  const { token, workerId, leaseMs, limit, again, ids, sources } = call
  const args: Argument[] = [token, workerId, String(leaseMs), String(limit), again ? 'a' : '']
  args.push(ids === undefined ? '-' : joined(ids))
  for (const source of sources) args.push(source.space, source.queue, String(source.limit))
  return args
}

function readClaimed(reply: Reply, { sources, token }: Omit<ClaimCall, 'now'>): ClaimReply {
  const [now, next, limited, found] = listOf(reply)
  const parts = listOf(found)
  const jobs: ClaimReply['jobs'][number][] = []
  for (let at = 0; at < parts.length; at += 2) {
    const { space, queue } = sources[numberOf(parts[at])] as Source
    const list = listOf(parts[at + 1])
    for (let i = 0; i < list.length; i += 2) {
      jobs.push(claimedOf(list[i] as Buffer, list[i + 1] as Buffer, { space, queue, token }))
    }
  }
  const places = listOf(limited).map(numberOf)
  return {
    jobs,
    nextDueAt: numberOrNull(next),
    ...(places.length > 0 && { limited: places }),
    now: numberOf(now),
  }
}

function readExtended(reply: Reply): ExtendResult {
  const [refusal, reason] = listOf(reply)
  const said = textOf(refusal)
  if (said !== '') return { status: 'refused', reason: said as Refusal }
  return { status: 'ok', cancelReason: reason === undefined ? null : textOf(reason) }
}

const texts = new WeakMap<Verdict, string>()

/** Done and away is what most are, and says nothing. What is the same object is the same text. */
function verdictText(verdict: Verdict): string {
  const known = texts.get(verdict)
  if (known !== undefined) return known
  const { result: _result, keepMs, failure, count, lane, ...rest } = verdict
  const isPlain = verdict.to === 'done' && keepMs === null && failure === null && !lane && count === null
  const text =
    isPlain && !verdict.refund
      ? ''
      : JSON.stringify({
          ...rest,
          ...(keepMs !== null && { keepMs }),
          ...(failure !== null && { failure }),
          ...(count !== null && { count }),
          ...(lane && { lane }),
        })
  texts.set(verdict, text)
  return text
}

function moreText(settlement: Settlement): string {
  const { rescue, onlyIfExpired, enqueue, groups = [], move, note, noted, handsOn } = settlement
  const isPlain = !rescue && !onlyIfExpired && !enqueue && groups.length === 0 && !move && !note && !noted
  if (isPlain) return ''
  return JSON.stringify({
    ...(handsOn && { handsOn }),
    ...(rescue && { rescue }),
    ...(onlyIfExpired && { onlyIfExpired }),
    ...(enqueue && { enqueue: enqueue.map(sentJob) }),
    ...(groups.length > 0 && { groups: groups.map(sentGroup) }),
    ...(move && { move: sentMove(move) }),
    ...(note && { note: sentNote(note) }),
    ...(noted && { noted }),
  })
}

function readSettled(reply: Reply): SettleResult {
  if (!Array.isArray(reply)) return { status: 'ok', state: textOf(reply) as JobState }
  const [first, inserted] = reply as readonly Reply[]
  if (inserted === undefined) {
    return { status: 'refused', reason: textOrNull(first) as Refusal | 'not-expired' }
  }
  const results = listOf(inserted).map((row) => insertResult(...(listOf(row) as [Reply, Reply, Reply])))
  return { status: 'ok', state: textOf(first) as JobState, inserted: results }
}
