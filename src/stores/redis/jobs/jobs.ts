import type { SkepError } from '../../../core/errors.ts'
import type { JobState, NewJob } from '../../../core/jobs/job.ts'
import { idTakenError, runTakenError } from '../../../core/jobs/taken-ids.ts'
import { slicesOf } from '../../../core/lanes/key-range.ts'
import type { Verdict } from '../../../core/policies/policy.ts'
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
} from '../../../store/store.ts'
import {
  listOf,
  numberOf,
  numberOrNull,
  type Reply,
  textOf,
  textOrNull,
  toBytes,
  writeId,
} from '../connection/bytes.ts'
import { BULK, type Caller, FEW, PLAIN } from '../connection/caller.ts'
import type { Argument } from '../connection/client.ts'
import { sentGroup, sentMove, sentRun } from '../flows/flow-codec.ts'
import { packed } from './bulk-insert.ts'
import { isReadyAtOnce, joined, MARKED, moreOf, readClaimedJobs, sentJob, writtenJob } from './job-codec.ts'
import { sentNote } from './job-log.ts'
import { insertResult, takenFrom, takenRunsFrom, withEnqueued } from './settle-enqueues.ts'

/** How jobs come and go: what workers and whoever enqueues call. */
export function jobCalls(
  caller: Caller,
  channel: string,
): {
  insert(call: InsertCall): Promise<InsertReply>
  claim(call: ClaimCall): Promise<ClaimReply>
  extend(call: ExtendCall): Promise<ExtendReply>
  settle(call: SettleCall): Promise<SettleReply>
} {
  // Queues that were found to have limits. If they have none any more, it is only the longer way.
  const limited = new Set<string>()
  // So many claims go the longer way, because the short one did nothing.
  let longClaims = 0

  /** Tries one of the short scripts. Null: it did nothing. */
  const shortly = async (
    operation: typeof PLAIN | typeof BULK | typeof FEW,
    queue: string,
    args: readonly Argument[],
    now: number | undefined,
  ): Promise<readonly Reply[] | null> => {
    const reply = await caller.call(operation, args, now)
    if (reply === 1) limited.add(queue)
    if (limited.size > MOST_REMEMBERED) limited.clear()
    return typeof reply === 'number' ? null : listOf(reply)
  }

  const inBulk = async (
    { jobs, letter = '', now }: InsertCall,
    name: string,
  ): Promise<InsertReply | null> => {
    const { space, queue } = jobs[0] as NewJob
    const told = await shortly(BULK, name, [space, queue], now)
    if (told === null) return null
    const [moment = 0, q = 0] = told.map(numberOf)
    const pieces = packed(jobs, { moment, q })
    if (pieces === null) return null
    const args = [space, queue, String(moment), String(q), channel, letter, ...pieces]
    const reply = await shortly(BULK, name, args, now)
    return reply && readInserted(reply, jobs)
  }

  return {
    async insert(call) {
      const name = bulkQueue(call)
      const isBulk = name !== null && !limited.has(name)
      const bulk = isBulk ? await inBulk(call, name) : null
      // Nothing is too late for a letter: the script that inserts publishes it.
      const late = call.letter === undefined ? ({ isLate: true } as const) : {}
      if (bulk !== null) return { ...bulk, ...late }
      const args = insertArguments(call, channel)
      const queue = isBulk ? null : plainQueue(args)
      const isPlain = queue !== null && !limited.has(queue)
      const plain = isPlain ? await shortly(PLAIN, queue, args, call.now) : null
      if (plain !== null) return readInserted(plain, call.jobs)
      const reply = readInserted(listOf(await caller.call('insert', args, call.now)), call.jobs)
      return isBulk || isPlain ? { ...reply, ...late } : reply
    },

    async claim(call) {
      const args = claimArguments(call)
      const queue = longClaims > 0 ? null : claimedQueue(call)
      if (longClaims > 0) longClaims--
      if (queue !== null && !limited.has(queue)) {
        const reply = await shortly(FEW, queue, args, call.now)
        if (reply !== null) return readClaimed(reply, call)
        if (!limited.has(queue)) longClaims = LONG_CLAIMS
      }
      return readClaimed(await caller.call('claim', args, call.now), call)
    },

    async extend({ leases, leaseMs, now }) {
      const args: Argument[] = [String(leaseMs)]
      for (const { space, id, token } of leases) args.push(space, toBytes(id), token)
      const results = listOf(await caller.call('extend', args, now))
      return { results: results.map(readExtended) }
    },

    async settle(call) {
      const { args, order, following } = settleArguments(call.settlements)
      if (call.claim) args.push(...claimArguments(call.claim))
      const [now, told, fired, claimed] = listOf(await caller.call('settle', args, call.now))
      return {
        results: readSettled(order, following, numberOf(now), listOf(told)),
        claimed: call.claim ? readClaimed(claimed as Reply, call.claim) : null,
        ...withEnqueued(fired),
      }
    },
  }
}

const MOST_REMEMBERED = 10_000

/** The short script for claims is tried once in so many where there is mostly more to do. */
const LONG_CLAIMS = 20

/** The queue of a claim that wants whatever is there in one. */
function claimedQueue({ again, ids, first = [], sources }: ClaimCall): string | null {
  const [source] = sources
  const isShort =
    sources.length === 1 && !again && ids === undefined && first.length === 0 && source?.keys === undefined
  return isShort && source ? nameOf(source) : null
}

function nameOf({ space, queue }: { readonly space: string; readonly queue: string }): string {
  return `${space}\0${queue}`
}

/** From so many jobs on the script for very many is worth its question. */
const BULK_AT = 500

/** The queue of very many fresh plain jobs, if these are all there is to insert. */
function bulkQueue({ jobs, groups = [], runs = [], again, fresh }: InsertCall): string | null {
  if (jobs.length < BULK_AT || !fresh || again || groups.length + runs.length > 0) return null
  const { space, queue } = jobs[0] as NewJob
  const isPlain = jobs.every((job) => job.queue === queue && job.space === space && moreOf(job) === '')
  return isPlain ? nameOf({ space, queue }) : null
}

/** The queue of fresh plain jobs that rise, if these are all there is to insert: then the short script will do. */
function plainQueue([flags, made, , , , space, queue, , , more, ...rest]: readonly Argument[]):
  | string
  | null {
  return flags === 'fs' && made === '' && more === '' && rest.length === 0
    ? nameOf({ space: String(space), queue: String(queue) })
    : null
}

function insertArguments(call: InsertCall, channel: string): Argument[] {
  const { jobs, groups, runs, again, fresh, letter = '' } = call
  const [job] = jobs
  if (!job || jobs.length > 1 || groups || runs || moreOf(job) !== '') return manyArguments(call, channel)
  // What most calls are, and somebody waits for it.
  const flags = `${fresh ? 'f' : ''}${again ? 'a' : ''}s`
  return [flags, '', channel, letter, '1', job.space, job.queue, '1', plainJobs(jobs).bytes, '']
}

/** Plain jobs of a queue that follow each other go in one piece, and so do others that need no care. */
function manyArguments(
  { jobs, groups = [], runs = [], again, fresh, letter = '' }: InsertCall,
  channel: string,
): Argument[] {
  const numbers = new Map<string, number>()
  const queues: string[] = []
  const pieces: Argument[] = []
  let together: NewJob[] = []
  let kind = ''
  let last: NewJob | null = null
  let number = 0
  let isSorted = true
  const flush = (): void => {
    if (together.length > 0) {
      const { bytes, rises } = kind === '' ? plainJobs(together) : markedJobs(together)
      pieces.push(String(number), bytes, kind)
      isSorted &&= rises
    }
    together = []
  }
  for (const job of jobs) {
    if (last === null || last.queue !== job.queue || last.space !== job.space) {
      flush()
      const name = `${job.space}\0${job.queue}`
      number = numbers.get(name) ?? numbers.size + 1
      if (number > numbers.size) {
        numbers.set(name, number)
        queues.push(job.space, job.queue)
      }
      last = job
    }
    const more = moreOf(job)
    if (more === '' || more === MARKED) {
      if (more !== kind) flush()
      kind = more
      together.push(job)
    } else {
      flush()
      pieces.push(String(number), Buffer.concat([toBytes(job.id), Buffer.from(job.payload)]), more)
    }
  }
  flush()
  const made =
    groups.length + runs.length === 0
      ? ''
      : JSON.stringify({ groups: groups.map(sentGroup), runs: runs.map(sentRun) })
  const flags = `${fresh ? 'f' : ''}${again ? 'a' : ''}${isSorted ? 's' : ''}`
  return [flags, made, channel, letter, String(numbers.size), ...queues, ...pieces]
}

/** Id, length and payload of each, and whether each id is higher than the one before it. */
function plainJobs(jobs: readonly NewJob[]): { readonly bytes: Buffer; readonly rises: boolean } {
  // A character of JavaScript takes at most 3 bytes.
  const most = jobs.reduce((sum, { payload }) => sum + 20 + 3 * payload.length, 0)
  const bytes = Buffer.allocUnsafe(most)
  let at = 0
  let before = -1
  let rises = true
  for (const { id, payload } of jobs) {
    writeId(bytes, id, at)
    if (before >= 0 && rises) rises = bytes.compare(bytes, before, before + 16, at, at + 16) > 0
    before = at
    const length = bytes.write(payload, at + 20)
    bytes.writeUInt32BE(length, at + 16)
    at += 20 + length
  }
  return { bytes: bytes.subarray(0, at), rises }
}

function markedJobs(jobs: readonly NewJob[]): { readonly bytes: Buffer; readonly rises: boolean } {
  const written = jobs.map(writtenJob)
  const rises = jobs.every(({ id }, n) => n === 0 || id > (jobs[n - 1] as NewJob).id)
  return { bytes: Buffer.concat(written), rises }
}

interface SettleArguments {
  readonly args: Argument[]
  /** The place of each settlement in the call, in the order in which they are sent. */
  readonly order: readonly number[]
  /** So many of these, after the first few, enqueue a job that is ready at once. */
  readonly following: { readonly from: number; readonly to: number }
}

/**
 * Jobs that are simply done go in one piece for each token, in the order of their ids, and so do those that enqueue one job which
 * needs no care: the next one of a chain. The others come after them, as they are.
 */
function settleArguments(settlements: readonly Settlement[]): SettleArguments {
  const ends = new Map<string, Sent[]>()
  const chains = new Map<string, Sent[]>()
  const slow: Argument[] = []
  const last: number[] = []
  const seen = new Set<string>()
  settlements.forEach((settlement, at) => {
    const { space, id, token, verdict } = settlement
    const next = isSimplyDone(verdict) ? nextOf(settlement) : undefined
    if (next === undefined || seen.has(id)) {
      const result = verdict.result === null ? '' : `=${verdict.result}`
      slow.push('', space, toBytes(id), token, verdictText(verdict), result, moreText(settlement))
      last.push(at)
    } else {
      const pieces = next === null ? ends : chains
      const by = `${space}\0${token}`
      const kept = verdict.keepMs === null ? by : `${by}\0${verdict.keepMs}`
      const name = next === null ? kept : `${kept}\0${next.space}\0${next.queue}`
      const piece = pieces.get(name)
      if (piece) piece.push({ at, settlement, next })
      else pieces.set(name, [{ at, settlement, next }])
    }
    seen.add(id)
  })
  const args: Argument[] = ['']
  const order: number[] = []
  const send = (kind: string, piece: Sent[]): void => {
    if (!rises(piece)) piece.sort((a, b) => (a.settlement.id < b.settlement.id ? -1 : 1))
    for (const { at } of piece) order.push(at)
    const { settlement, next } = piece[0] as Sent
    const { space, token, verdict } = settlement
    args.push(kind, space, token, joined(piece.map((one) => one.settlement.id)), resultsOf(piece))
    args.push(verdict.keepMs === null ? '' : String(verdict.keepMs))
    if (next) args.push(next.space, next.queue, nextJobs(piece))
  }
  for (const piece of ends.values()) send('a', piece)
  const from = order.length
  for (const piece of chains.values()) send('n', piece)
  const to = order.length
  args.push(...slow)
  args[0] = String(args.length - 1)
  return { args, order: [...order, ...last], following: { from, to } }
}

interface Sent {
  readonly at: number
  readonly settlement: Settlement
  readonly next: NewJob | null
}

function isSimplyDone({ to, failure, count, lane, refund }: Verdict): boolean {
  return to === 'done' && failure === null && count === null && !lane && !refund
}

function rises(piece: readonly Sent[]): boolean {
  for (let n = 1; n < piece.length; n++) {
    if ((piece[n] as Sent).settlement.id < (piece[n - 1] as Sent).settlement.id) return false
  }
  return true
}

/** What a success enqueues if that is one job which needs no care, and null if it is none; undefined if there is more to it. */
function nextOf(settlement: Settlement): NewJob | null | undefined {
  const { rescue, onlyIfExpired, enqueue, groups, move, note, noted } = settlement
  if (rescue || onlyIfExpired || move || note || noted || (groups && groups.length > 0)) return undefined
  if (!enqueue) return null
  const [next] = enqueue
  return next && enqueue.length === 1 && isReadyAtOnce(next) ? next : undefined
}

const NO_RESULT = Buffer.alloc(4)

function resultsOf(piece: readonly Sent[]): Argument {
  if (piece.every(({ settlement }) => settlement.verdict.result === null)) return ''
  const parts: Buffer[] = []
  for (const { settlement } of piece) {
    const { result } = settlement.verdict
    if (result === null) parts.push(NO_RESULT)
    else {
      const length = Buffer.byteLength(result)
      const bytes = Buffer.allocUnsafe(4 + length)
      bytes.writeUInt32BE(length + 1)
      bytes.write(result, 4)
      parts.push(bytes)
    }
  }
  return Buffer.concat(parts)
}

const HANDS_ON = Buffer.from('h')
const KEEPS = Buffer.from('-')

function nextJobs(piece: readonly Sent[]): Buffer {
  return Buffer.concat(
    piece.flatMap(({ settlement, next }) => [
      settlement.handsOn ? HANDS_ON : KEEPS,
      writtenJob(next as NewJob),
    ]),
  )
}

/** Only what is not simply ready now is told. */
function readInserted(reply: readonly Reply[], jobs: readonly NewJob[]): InsertReply {
  if (Buffer.isBuffer(reply[1])) throw refusalOf(textOf(reply[1]), reply[2])
  const ready: InsertResult = { status: 'ok', state: 'ready', dueAt: numberOf(reply[0]) }
  const results: InsertResult[] = jobs.map(() => ready)
  const special = listOf(reply[1])
  for (let at = 0; at < special.length; at += 4) {
    const [n, state, moment, action] = special.slice(at, at + 4) as [Reply, Reply, Reply, Reply]
    results[numberOf(n) - 1] = insertResult(state, moment, action)
  }
  const knownRuns = listOf(reply[3]).map(numberOf)
  return { results, ...withEnqueued(reply[2]), ...(knownRuns.length > 0 && { knownRuns }) }
}

function refusalOf(what: string, taken: Reply | undefined): SkepError {
  return what === 'taken runs' ? runTakenError(takenRunsFrom(taken)) : idTakenError(takenFrom(taken))
}

function claimArguments(call: Omit<ClaimCall, 'now'>): Argument[] {
  const { token, workerId, leaseMs, limit, again, ids, first = [], sources } = call
  const isAhead = first.length > 0 && !again && ids === undefined
  const args: Argument[] = [token, workerId, String(leaseMs), String(limit), again ? 'a' : isAhead ? 'f' : '']
  const named = isAhead ? [...new Set(first)].sort() : ids
  args.push(named === undefined ? '-' : joined(named))
  for (const source of sources) args.push(source.space, source.queue, limitOf(source))
  return args
}

/** How many to take, and of which slices. */
function limitOf({ limit, keys }: Source): string {
  if (keys === undefined) return String(limit)
  const { first, end } = slicesOf(keys)
  return `${limit} ${first} ${end}`
}

function readClaimed(reply: Reply, { sources, token }: Omit<ClaimCall, 'now'>): ClaimReply {
  const [now, next, limited, found] = listOf(reply)
  const parts = listOf(found)
  const jobs: ClaimReply['jobs'][number][] = []
  for (let at = 0; at < parts.length; at += 2) {
    const { space, queue } = sources[numberOf(parts[at])] as Source
    readClaimedJobs(parts[at + 1] as Buffer, { space, queue, token }, jobs)
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
  const text =
    isSimplyDone(verdict) && keepMs === null
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
  const { rescue, repeatToken, onlyIfExpired, enqueue, groups = [], move, note, noted, handsOn } = settlement
  const isPlain = !rescue && !onlyIfExpired && !enqueue && groups.length === 0 && !move && !note && !noted
  if (isPlain) return ''
  return JSON.stringify({
    ...(handsOn && { handsOn }),
    ...(rescue && { rescue, repeatToken }),
    ...(onlyIfExpired && { onlyIfExpired }),
    ...(enqueue && { enqueue: enqueue.map(sentJob) }),
    ...(groups.length > 0 && { groups: groups.map(sentGroup) }),
    ...(move && { move: sentMove(move) }),
    ...(note && { note: sentNote(note) }),
    ...(noted && { noted }),
  })
}

const DONE: SettleResult = { status: 'ok', state: 'done' }

/** Only what is not simply done, with the job that it enqueues ready, is told. */
function readSettled(
  order: SettleArguments['order'],
  { from, to }: SettleArguments['following'],
  now: number,
  told: readonly Reply[],
): SettleResult[] {
  const results: SettleResult[] = order.map(() => DONE)
  const inserted: InsertResult[] = [{ status: 'ok', state: 'ready', dueAt: now }]
  const went: SettleResult = { status: 'ok', state: 'done', inserted }
  for (let n = from; n < to; n++) results[order[n] as number] = went
  for (let at = 0; at < told.length; at += 2) {
    results[order[numberOf(told[at]) - 1] as number] = readSettledOne(told[at + 1] as Reply)
  }
  return results
}

function readSettledOne(reply: Reply): SettleResult {
  if (!Array.isArray(reply)) return { status: 'ok', state: textOf(reply) as JobState }
  const [first, inserted] = reply as readonly Reply[]
  if (inserted === undefined) {
    return { status: 'refused', reason: textOrNull(first) as Refusal | 'not-expired' }
  }
  if (textOf(first) === '') return { status: 'refused', reason: 'taken', taken: takenFrom(inserted) }
  const results = listOf(inserted).map((row) => insertResult(...(listOf(row) as [Reply, Reply, Reply])))
  return { status: 'ok', state: textOf(first) as JobState, inserted: results }
}
