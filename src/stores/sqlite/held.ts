/** So many jobs are remembered at most; one that was forgotten is looked up by its id. */
const MOST = 50_000

/**
 * The numbers of the plain jobs (no unique key) that this process has claimed, so that the end of many leases
 * need not look up every id. It is only a shortcut: the lease is always checked by number and token in the
 * database, and a token belongs to one claim.
 */
export class HeldJobs {
  readonly #claims = new Map<string, Map<string, number>>()
  #size = 0
  #claimed: [token: string, id: string, n: number][] = []
  #settled: [token: string, id: string][] = []

  find(token: string, id: string): number | undefined {
    return this.#claims.get(token)?.get(id)
  }

  /** Takes effect at the commit. */
  claimed(token: string, id: string, n: number): void {
    this.#claimed.push([token, id, n])
  }

  /** Takes effect at the commit. */
  settled(token: string, id: string): void {
    this.#settled.push([token, id])
  }

  commit(): void {
    for (const [token, id] of this.#settled) {
      const jobs = this.#claims.get(token)
      if (jobs?.delete(id)) this.#size--
      if (jobs?.size === 0) this.#claims.delete(token)
    }
    for (const [token, id, n] of this.#claimed) {
      let jobs = this.#claims.get(token)
      if (!jobs) {
        jobs = new Map()
        this.#claims.set(token, jobs)
      }
      if (!jobs.has(id)) this.#size++
      jobs.set(id, n)
    }
    // The oldest claims go first: their leases are the likeliest to be over.
    for (const [token, jobs] of this.#claims) {
      if (this.#size <= MOST) break
      this.#claims.delete(token)
      this.#size -= jobs.size
    }
    this.rollback()
  }

  rollback(): void {
    if (this.#claimed.length > 0) this.#claimed = []
    if (this.#settled.length > 0) this.#settled = []
  }
}
