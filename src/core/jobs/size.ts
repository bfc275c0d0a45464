/**
 * What each job weighs beside its texts, in every store: its times and counters, its places in indexes. About what they take in
 * fact, and the same everywhere, so that a quota means the same everywhere too.
 */
export const JOB_BYTES = 256

/** The texts of a job: what was put in, and what came of it. All other fields are small. */
export interface Texts {
  readonly payload: string
  readonly headers?: string | null
  readonly overrides?: string | null
  readonly lane?: string | null
  readonly uniqueKey?: string | null
  readonly cancelReason?: string | null
  readonly result?: string | null
  readonly failure?: string | null
}

/** What a job with these texts weighs, without what its handler logged. */
export function weightOf(job: Texts): number {
  const { payload, headers, overrides, lane, uniqueKey, cancelReason, result, failure } = job
  const texts = [payload, headers, overrides, lane, uniqueKey, cancelReason, result, failure]
  return texts.reduce<number>((sum, text) => sum + Buffer.byteLength(text ?? ''), JOB_BYTES)
}
