import type { Job } from '../../core/jobs/job.ts'
import { byRank, claim, claimable, claimedPart, extend, promote } from '../../core/jobs/transitions.ts'
import { isInRange } from '../../core/lanes/key-range.ts'
import { DEFAULT_LANE, NEVER } from '../../core/lanes/lanes.ts'
import { type ClaimCall, type ClaimReply, PROMOTE_LIMIT, type Source } from '../../store/store.ts'
import type { Jobs } from './jobs.ts'
import { earlier, orNull } from './lanes.ts'

/** Leases jobs, source by source. */
export class Claims {
  readonly #jobs: Jobs

  constructor(jobs: Jobs) {
    this.#jobs = jobs
  }

  claim(call: Omit<ClaimCall, 'now'>, now: number): ClaimReply {
    const { table, lines } = this.#jobs
    const lease = { workerId: call.workerId, token: call.token, leaseMs: call.leaseMs }
    const taken: Job[] = []
    let next: number | null = null
    const take = (job: Job): void => {
      const leased = claim(job, lease, now)
      this.#jobs.release(job, 'claim')
      table.put(leased)
      taken.push(leased)
    }

    for (const source of call.sources) {
      if (call.again) {
        taken.push(...this.#again(call, source, now))
        next = earlier(next, table.nextDelayed(source.space, source.queue)?.dueAt ?? null)
      } else {
        const room = Math.max(0, Math.min(source.limit, call.limit - taken.length))
        next = earlier(next, this.#from(source, call, room, now, take))
      }
    }
    const limited = [...call.sources.keys()].filter((index) => {
      const { space, queue } = call.sources[index] as Source
      return lines.get(space, queue) !== undefined
    })
    return {
      jobs: taken.map(claimedPart),
      nextDueAt: taken.length < call.limit ? next : null,
      ...(limited.length > 0 ? { limited } : {}),
      now,
    }
  }

  /** Claims from one source. If a rate or a hold stopped it, returns when the next job may start. */
  #from(
    source: Source,
    { ids, first = [] }: Pick<ClaimCall, 'ids' | 'first'>,
    room: number,
    now: number,
    take: (job: Job) => void,
  ): number | null {
    const { table, lines, holds } = this.#jobs
    const { space, queue } = source
    const heldUntil = holds.endOf(space, queue, now)
    if (heldUntil > 0) return orNull(heldUntil)
    if (ids === undefined) this.#promoteDue(source, now)
    const line = lines.get(space, queue)
    if (!line) {
      if (ids) for (const job of this.#named(ids, source, now).slice(0, room)) take(job)
      const isIn = source.keys === undefined || isInRange(source.keys, DEFAULT_LANE)
      const ahead = ids ? [] : this.#named(first, source, now).sort(byRank).slice(0, room)
      for (const job of ahead) take(job)
      for (let n = ahead.length; n < room && !ids && isIn; n++) {
        const job = table.nextReady(space, queue, DEFAULT_LANE)
        if (!job) break
        take(job)
      }
      return orNull(table.nextDelayed(space, queue)?.dueAt ?? NEVER)
    }

    const shared = lines.sharedOf(space, line)
    let startsAt: number | null = null
    if (ids) {
      let left = room
      for (const job of this.#named(ids, source, now)) {
        if (left === 0 || !line.takeNamed(job, shared, now)) continue
        take(job)
        left--
      }
    } else startsAt = line.serve(room, shared, source.keys ?? null, now, take)
    const next = Math.min(table.nextDelayed(space, queue)?.dueAt ?? NEVER, line.nextWake())
    return earlier(startsAt, orNull(next))
  }

  /** The jobs that the token of an earlier claim holds, with renewed leases. */
  #again(call: Omit<ClaimCall, 'now'>, { space, queue }: Source, now: number): Job[] {
    const { table } = this.#jobs
    const held = table.inState(space, queue, 'running').filter(({ token }) => token === call.token)
    const kept = held.map((job) => extend(job, call.leaseMs, now)).sort(byRank)
    for (const job of kept) table.put(job)
    return kept
  }

  /** The named jobs of a source that are due and in its key range. */
  #named(ids: readonly string[], { space, queue, keys }: Source, now: number): Job[] {
    return [...new Set(ids)]
      .map((id) => this.#jobs.table.get(space, id))
      .filter((job) => job !== undefined)
      .filter((job) => job.queue === queue && claimable(job, now))
      .filter((job) => keys === undefined || isInRange(keys, job.lane))
  }

  #promoteDue({ space, queue }: Source, now: number): void {
    for (let n = 0; n < PROMOTE_LIMIT; n++) {
      const due = this.#jobs.table.nextDelayed(space, queue)
      if (!due || due.dueAt > now) return
      this.#jobs.put(promote(due), now)
    }
  }
}
