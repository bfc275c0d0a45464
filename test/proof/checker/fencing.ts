import type { AuditEntry, AuditRow, SettleRecord, ToldRecord, Violation } from '../history.ts'
import {
  type Asked,
  causesOf,
  ends,
  fits,
  type Invariant,
  type JobView,
  type LeaseView,
  releasesLease,
  type View,
  wasRescued,
} from './view.ts'

/** I-5: only the token of the current lease ends it, and whoever is told that it did, did. */
export const fencing: Invariant = function* (view) {
  for (const lease of view.leases) {
    const why = badRelease(view, lease)
    if (why !== null) yield stale(lease, why)
    for (const settle of lease.settles) {
      const wrong = badAnswer(view, lease, settle)
      if (wrong !== null) yield stale(lease, wrong)
    }
    for (const told of lease.told) {
      const wrong = badNews(view, lease, told)
      if (wrong !== null) yield stale(lease, wrong)
    }
  }
}

/** I-5: a lease is ended by one, and a job succeeds once in a generation. */
export const oneEnd: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    const why = succeededTwice(view, job)
    if (why !== null) yield { invariant: 'I-5', kind: 'acked-twice', about: job.id, message: why }
  }
  for (const lease of view.leases) {
    const procs = accepted(lease)
    if (procs.length > 1) {
      const message = `${procs.join(' and ')} were both told that they ended lease ${lease.token}.`
      yield { invariant: 'I-5', kind: 'acked-twice', about: lease.id, message }
    }
  }
}

function badRelease(view: View, lease: LeaseView): string | null {
  const { release, settles } = lease
  // A lease that was taken away by another token is an overlap.
  if (release === null || release.after?.state === 'running') return null
  const sent = settles.filter(({ invoke }) => !view.order.isAfter(invoke, release))
  if (sent.length === 0) return `Lease ${lease.token} ended, but nobody had settled it.`
  if (causesOf(view, lease).length === 0) {
    return `Lease ${lease.token} ended as ${stateAfter(release)}, which no settle that may have happened had asked for.`
  }
  const leaseUntil = release.before?.leaseUntil ?? -Infinity
  if (!view.facts.liveness && wasRescued(view, lease) && release.at + view.facts.slackMs < leaseUntil) {
    return `Lease ${lease.token} was rescued ${leaseUntil - release.at} ms before its end.`
  }
  return null
}

function badAnswer(view: View, lease: LeaseView, { invoke, answer }: Asked<SettleRecord>): string | null {
  if (answer?.type !== 'ok' || answer.status !== 'ok') return null
  const { claim, release } = lease
  if (claim === null) return `${invoke.proc} was told ok for token ${lease.token}, which never had a lease.`
  if (release === null || view.order.isBefore(answer, release)) {
    return `${invoke.proc} was told ok for token ${lease.token} while the lease went on.`
  }
  if (fits(invoke.to, release)) return null
  return isRepeat(lease, invoke)
    ? null
    : `${invoke.proc} was told ok for ${invoke.to} under token ${lease.token}, but the job became ${stateAfter(release)}.`
}

/** The same holder had settled this lease before, in the way it went. A rescue is never a repetition. */
function isRepeat({ settles, release }: LeaseView, settle: SettleRecord): boolean {
  return settles.some(
    ({ invoke }) =>
      invoke.proc === settle.proc &&
      !invoke.rescue &&
      !settle.rescue &&
      invoke.n < settle.n &&
      fits(invoke.to, release as AuditEntry),
  )
}

function badNews(view: View, { token, release, settles }: LeaseView, told: ToldRecord): string | null {
  if (told.event === 'result') return null
  if (release === null || view.order.isBefore(told, release)) {
    return `A listener heard "${told.event}" of lease ${token}, which had not ended.`
  }
  const to = { finished: 'done', dead: 'dead', cancelled: 'cancelled' }[told.event as string]
  const isTrue =
    to === undefined
      ? release.after?.state !== 'done'
      : release.after === null
        ? settles.some(({ invoke }) => invoke.to === to)
        : release.after.state === to
  return isTrue
    ? null
    : `A listener heard "${told.event}" of lease ${token}, but the job became ${stateAfter(release)}.`
}

function succeededTwice(view: View, { audit, told, leases }: JobView): string | null {
  const generations = new Set<number>()
  for (const entry of audit) {
    if (!releasesLease(entry)) continue
    const { generation } = entry.before as AuditRow
    const lease = leases.find(({ token }) => token === entry.before?.token)
    const removedBySuccess =
      entry.after === null && (lease?.settles.some(({ invoke }) => invoke.to === 'done') ?? false)
    if (entry.after?.state !== 'done' && !removedBySuccess) continue
    if (generations.has(generation)) return `It was done twice in generation ${generation}.`
    generations.add(generation)
  }

  const finished = new Map<number, string>()
  for (const { event, id, token } of told) {
    if (event !== 'finished' || token === null) continue
    const generation = generationOf(view, id, token)
    if (generation === null) continue
    const other = finished.get(generation)
    if (other !== undefined && other !== token) return `It finished under tokens ${other} and ${token}.`
    finished.set(generation, token)
  }
  return null
}

/** The processes that were told, rightly as far as they know, that their settle ended this lease. */
function accepted({ settles, release }: LeaseView): string[] {
  if (release === null) return []
  const procs = settles
    .filter(({ invoke, answer }) => {
      if (answer?.type !== 'ok' || answer.status !== 'ok' || !fits(invoke.to, release)) return false
      // Whoever is told another end than its own knows that it was not the one.
      return !ends(answer.state) || answer.state === invoke.to || answer.state === 'cancelled'
    })
    .map(({ invoke }) => (invoke.rescue ? `${invoke.proc} (rescue)` : invoke.proc))
  return [...new Set(procs)]
}

export function generationOf(view: View, id: string, token: string): number | null {
  const lease = view.leaseOf(id, token)
  return lease?.claim?.after?.generation ?? lease?.starts[0]?.generation ?? null
}

function stateAfter({ after }: AuditEntry): string {
  return after === null ? 'removed' : after.state
}

function stale({ id }: LeaseView, message: string): Violation {
  return { invariant: 'I-5', kind: 'stale-settle-accepted', about: id, message }
}
