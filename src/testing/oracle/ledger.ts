import assert from 'node:assert/strict'
import { type ClaimedJob, isFinal, type Job } from '../../core/jobs/job.ts'
import { keptToken } from '../../core/jobs/transitions.ts'
import {
  type ClaimReply,
  type ExpiredReply,
  REMEMBER_DISCARDED_MS,
  type Settlement,
  type SettleReply,
} from '../../store/store.ts'
import { shapeFaults } from '../invariants.ts'
import { type Command, insertedBy, type Replies } from './commands.ts'

export type Snapshot = ReadonlyMap<string, Job>

/** Whether the id of a job that leaves the store now has to be remembered: not if it was finished for long. */
export function isRemembered(job: Job, now: number): boolean {
  return now - (job.finishedAt ?? now) < REMEMBER_DISCARDED_MS
}

/**
 * Follows a history from outside and checks what must hold whatever the commands are: one live lease (I-4),
 * fencing (I-5), no return after the end (I-6), final states (I-7), never early (I-9), sound shapes (I-24) and nothing lost (I-25).
 */
export class Ledger {
  /** The token that holds each leased job. */
  readonly #live = new Map<string, string>()
  /** Leases that have ended by a settlement of their own holder. */
  readonly #settled = new Set<string>()
  /** Jobs that left the store and whose ids it has to remember, with the time. */
  readonly #left = new Map<string, number>()
  /** Jobs that have ended, with their generation. */
  readonly #ended = new Set<string>()

  /** `enqueued`: the jobs that groups enqueued. */
  check(
    command: Command,
    replies: Replies,
    before: Snapshot,
    after: Snapshot,
    enqueued: ReadonlySet<string>,
    now: number,
  ): void {
    const discards = new Set<string>()
    const settle = (settlements: readonly Settlement[], reply: SettleReply): void => {
      assert.equal(reply.results.length, settlements.length, 'one result for each settlement')
      for (const [n, settlement] of settlements.entries()) {
        this.#settle(settlement, reply.results[n] as SettleReply['results'][number], before, now)
        const { to, keepMs } = settlement.verdict
        if (keepMs === null && to !== 'ready' && to !== 'delayed') discards.add(settlement.id)
      }
      if (reply.claimed) claim('claim' in command && command.claim?.again === true, reply.claimed.jobs)
    }
    const claim = (isAgain: boolean, jobs: readonly ClaimedJob[]): void =>
      isAgain ? this.#claimAgain(jobs) : this.#claim(jobs, now)

    if (command.do === 'claim') claim(command.again === true, (replies[0] as ClaimReply).jobs)
    if (command.do === 'settle') settle(command.settlements, replies[0] as SettleReply)
    if (command.do === 'rescue') {
      const { leases } = replies[0] as ExpiredReply
      for (const { id, token, over } of leases) {
        assert.equal(this.#live.get(id), token, `expired names the lease that job ${id} has`)
        assert.equal(
          (before.get(id)?.leaseUntil ?? 0) <= now,
          over,
          `over tells about the lease of job ${id}`,
        )
      }
      const { verdict } = command
      settle(
        leases.map(({ space, id, token }) => ({ space, id, token, verdict, rescue: true })),
        replies[1] as SettleReply,
      )
    }
    const inserts = new Set([...insertedBy([command]).map(({ id }) => id), ...enqueued])
    this.#compare(command, before, after, inserts, discards, now)
  }

  #claim(jobs: readonly ClaimedJob[], now: number): void {
    for (const { id, token, dueAt } of jobs) {
      assert.ok(!this.#live.has(id), `I-4: job ${id} was claimed while it is leased`)
      assert.ok(dueAt <= now, `I-9: job ${id} was claimed before it is due`)
      this.#live.set(id, token)
    }
  }

  #claimAgain(jobs: readonly ClaimedJob[]): void {
    for (const { id, token } of jobs) {
      assert.equal(this.#live.get(id), token, `I-4: job ${id} was given to a token that does not hold it`)
    }
  }

  #settle(
    settlement: Settlement,
    result: SettleReply['results'][number],
    before: Snapshot,
    now: number,
  ): void {
    const { id, token } = settlement
    const kept = keptToken(settlement)
    const holds = this.#live.get(id) === token
    if (result.status === 'ok') {
      const isRepeated = kept !== null && this.#settled.has(`${id} ${kept}`)
      assert.ok(holds || isRepeated, `I-5: a token that does not hold job ${id} settled it`)
      if (!holds) return
      this.#live.delete(id)
      if (kept !== null) this.#settled.add(`${id} ${kept}`)
      if (!isFinal(result.state)) return
      const generation = `${id} ${before.get(id)?.generation ?? 0}`
      assert.ok(!this.#ended.has(generation), `I-5: job ${id} ended twice in one generation`)
      this.#ended.add(generation)
      return
    }
    assert.equal(result.status, 'refused')
    if (holds) {
      const isEarly = (before.get(id)?.leaseUntil ?? 0) > now
      assert.ok(result.reason === 'not-expired' && isEarly, `I-5: the holder of job ${id} was refused`)
    }
  }

  #compare(
    command: Command,
    before: Snapshot,
    after: Snapshot,
    inserts: ReadonlySet<string>,
    discards: ReadonlySet<string>,
    now: number,
  ): void {
    for (const [id, job] of after) {
      assert.deepEqual(shapeFaults(job, now), [], `I-24: the shape of ${JSON.stringify(job)}`)
      const old = before.get(id)
      if (!old) {
        assert.ok(inserts.has(id), `I-2: job ${id} appeared out of nothing`)
        const isRepeated = command.do === 'insert' && command.again === true
        const isKnown = now - (this.#left.get(id) ?? -Infinity) < REMEMBER_DISCARDED_MS
        assert.ok(!(isRepeated && isKnown), `I-6: job ${id} came back when its insert was repeated`)
      }
      assert.equal(job.arrival, (old ?? job).arrival, `I-10: the arrival of job ${id}`)
      assert.equal(job.arrival !== undefined, job.strict, `I-10: job ${id} has an arrival if it is strict`)
      if (old && isFinal(old.state)) {
        const retried =
          command.do === 'change' && command.action === 'retry' && job.generation === old.generation + 1
        if (!retried) assert.deepEqual(job, old, `I-7: finished job ${id} changed`)
      } else if (old) {
        assert.equal(job.generation, old.generation, `the generation of job ${id}`)
      }
    }
    for (const [id, old] of before) {
      if (after.has(id)) continue
      const explained =
        discards.has(id) ||
        (command.do === 'change' && command.action === 'remove') ||
        (command.do === 'prune' && isFinal(old.state) && (old.expiresAt ?? Infinity) <= now)
      assert.ok(explained, `I-1: job ${id} is lost; it was ${old.state}`)
      if (isRemembered(old, now)) this.#left.set(id, now)
    }
    const running = [...after.values()].filter(({ state }) => state === 'running')
    assert.deepEqual(
      new Map(running.map(({ id, token }) => [id, token])),
      this.#live,
      'I-4: the running jobs are those with a live lease',
    )
  }
}
