import { covers, type HoldTarget } from '../core/holds.ts'
import type { ClaimedJob } from '../core/job.ts'
import { DEFAULT_LANE } from '../core/lanes.ts'

/** The jobs that a recall is about: those that a hold on this target would keep back. */
export type RecallTarget = HoldTarget

/** Whether a recall is about a job. Jobs without a lane are in the default one. */
export function isRecalled(
  target: RecallTarget,
  { space, queue, lane }: Pick<ClaimedJob, 'space' | 'queue' | 'lane'>,
): boolean {
  return covers(target, { space, queue, lane: lane ?? DEFAULT_LANE })
}

/** Claims whose answer may bring jobs that were taken before the recall. */
interface Recall {
  readonly target: RecallTarget
  readonly claims: Set<string>
  /** It goes on: the jobs of later claims are meant too. */
  stands: boolean
}

/**
 * What a worker hands back although it was given it: jobs of a target that were claimed before a hold, or before their lane was
 * told to wait, and have not started. What waits for a slot is handed back at once; this remembers the claims that were under
 * way at that moment, by their tokens, because their answers may still bring such jobs. A claim that is sent afterwards is
 * decided by the store, which knows of the hold.
 */
export class Recalls {
  /** Claims that may still be answered. */
  readonly #open = new Set<string>()
  #recalls: Recall[] = []

  /** A claim is about to be sent. */
  begin(token: string): void {
    this.#open.add(token)
    for (const recall of this.#recalls) if (recall.stands) recall.claims.add(token)
  }

  /** A claim will bring nothing any more. */
  end(token: string): void {
    this.#open.delete(token)
    if (this.#recalls.length === 0) return
    for (const { claims } of this.#recalls) claims.delete(token)
    this.#forget()
  }

  /** Recalls what claims under way may bring. */
  add(target: RecallTarget): void {
    if (this.#open.size > 0) this.#recalls.push({ target, claims: new Set(this.#open), stands: false })
  }

  /** The same, and what later claims bring too, until the answer is called: then the store knows. */
  hold(target: RecallTarget): () => void {
    const recall: Recall = { target, claims: new Set(this.#open), stands: true }
    this.#recalls.push(recall)
    return () => {
      recall.stands = false
      this.#forget()
    }
  }

  /** Whether a job that this claim brought must not start. */
  has(token: string, job: Pick<ClaimedJob, 'space' | 'queue' | 'lane'>): boolean {
    return this.#recalls.some(({ target, claims }) => claims.has(token) && isRecalled(target, job))
  }

  get isEmpty(): boolean {
    return this.#recalls.length === 0
  }

  #forget(): void {
    this.#recalls = this.#recalls.filter(({ stands, claims }) => stands || claims.size > 0)
  }
}
