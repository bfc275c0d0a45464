import type { Membership } from '../../core/groups.ts'

/** So many jobs are remembered at most; one that was forgotten is looked up by its id. */
const MOST = 50_000

/** The jobs one claim took from one queue, by id, with their numbers. */
export interface HeldBatch {
  readonly token: string
  readonly space: string
  readonly q: number
  readonly numbers: Map<string, number>
  /** The keys of their lanes, for those that are in one. */
  readonly lanes: ReadonlyMap<string, string>
  /** Which members they are, for those that are in a group. */
  readonly members: ReadonlyMap<string, Membership>
}

/**
 * The numbers of the plain jobs (no unique key) that this process has claimed, so that the end of many leases
 * need not look up every id. It is only a shortcut: the lease is always checked by number and token in the
 * database, and a token belongs to one claim.
 */
export class HeldJobs {
  readonly #batches = new Map<string, HeldBatch[]>()
  #size = 0
  #claimed: HeldBatch[] = []
  #settled: { readonly batch: HeldBatch; readonly ids: readonly string[] }[] = []

  /** The batch a job was claimed in. */
  find(token: string, space: string, id: string): HeldBatch | undefined {
    const batches = this.#batches.get(token)
    return batches?.find((batch) => batch.space === space && batch.numbers.has(id))
  }

  /** Takes effect at the commit. */
  claimed(batch: HeldBatch): void {
    this.#claimed.push(batch)
  }

  /** Takes effect at the commit. */
  settled(batch: HeldBatch, ids: readonly string[]): void {
    this.#settled.push({ batch, ids })
  }

  commit(): void {
    for (const { batch, ids } of this.#settled) this.#remove(batch, ids)
    for (const batch of this.#claimed) {
      if (batch.numbers.size === 0) continue
      this.#batches.set(batch.token, [...(this.#batches.get(batch.token) ?? []), batch])
      this.#size += batch.numbers.size
    }
    // The oldest claims go first: their leases are the likeliest to be over.
    for (const [token, batches] of this.#batches) {
      if (this.#size <= MOST) break
      this.#batches.delete(token)
      for (const { numbers } of batches) this.#size -= numbers.size
    }
    this.rollback()
  }

  rollback(): void {
    this.#claimed = []
    this.#settled = []
  }

  #remove(batch: HeldBatch, ids: readonly string[]): void {
    const { token, numbers } = batch
    for (const id of ids) if (numbers.delete(id)) this.#size--
    if (numbers.size > 0) return
    const others = this.#batches.get(token)?.filter((other) => other !== batch) ?? []
    if (others.length > 0) this.#batches.set(token, others)
    else this.#batches.delete(token)
  }
}
