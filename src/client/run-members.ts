import { type Group, memberCount, type Outcome } from '../core/groups.ts'
import type { JobState } from '../core/job.ts'
import type { Store } from '../store.ts'

/** A job or a branch that a run waits for, or waited for in vain. */
export interface RunMember {
  /** Its number: of the item, or of the branch. */
  readonly n: number
  readonly id: string
  readonly kind: 'job' | 'run'
  /** Its queue or flow; null if it is not kept any more. */
  readonly name: string | null
  /** Null if it is not kept any more. */
  readonly state: JobState | null
  readonly failure: { readonly message: string } | null
}

/** What a run waits for at its present step. */
export interface RunMembers {
  /** Those that have not ended, by number. */
  readonly open: readonly RunMember[]
  /** Those that ended and were not done. Redrive such a job, or retry such a run, and the step completes. */
  readonly failed: readonly RunMember[]
}

/** Outcomes are read by so many, and at most so many pages are looked through. */
const PAGE = 1_000
const PAGES = 20

type Reader = Pick<Store, 'openMembers' | 'outcomes' | 'get' | 'getRuns'>

/** The members of a group that are of interest: some of each kind. */
export async function readMembers(
  store: Reader,
  group: Pick<Group, 'space' | 'id' | 'size' | 'failed'>,
  limit: number,
): Promise<RunMembers> {
  const { space, id, failed } = group
  const size = memberCount(group)
  const [{ members }, failures] = await Promise.all([
    store.openMembers({ space, group: id, from: 0, limit }),
    failed === 0 ? [] : failedOf(store, { space, id, size }, limit),
  ])
  const known = await lookUp(store, space, [
    ...members.map((member) => member.id),
    ...failures.flatMap((outcome) => outcome.id ?? []),
  ])
  return {
    open: members.map(({ n, id: member, kind }) => ({
      n,
      id: member,
      kind,
      name: known.get(member)?.name ?? null,
      state: known.get(member)?.state ?? null,
      failure: known.get(member)?.failure ?? null,
    })),
    failed: failures.map((outcome) => failedView(outcome, known.get(outcome.id ?? ''))),
  }
}

async function failedOf(
  store: Reader,
  { space, id, size }: Pick<Group, 'space' | 'id' | 'size'>,
  limit: number,
): Promise<Outcome[]> {
  const found: Outcome[] = []
  for (let from = 0, page = 0; from < size && found.length < limit && page < PAGES; page++) {
    const { outcomes } = await store.outcomes({ space, groups: [id], from, limit: PAGE })
    const some = outcomes[0] ?? []
    found.push(...some.filter(({ state }) => state !== 'done'))
    if (some.length < PAGE) break
    from = (some.at(-1) as Outcome).n + 1
  }
  return found.slice(0, limit)
}

type Known = Pick<RunMember, 'kind' | 'name' | 'state' | 'failure'>

async function lookUp(store: Reader, space: string, ids: readonly string[]): Promise<Map<string, Known>> {
  if (ids.length === 0) return new Map()
  const [{ jobs }, { runs }] = await Promise.all([store.get({ space, ids }), store.getRuns({ space, ids })])
  const known = new Map<string, Known>()
  for (const job of jobs) {
    if (job)
      known.set(job.id, { kind: 'job', name: job.queue, state: job.state, failure: readFailure(job.failure) })
  }
  for (const run of runs) {
    if (run)
      known.set(run.id, { kind: 'run', name: run.flow, state: run.status, failure: readFailure(run.failure) })
  }
  return known
}

function failedView({ n, id, state, failure }: Outcome, known: Known | undefined): RunMember {
  return {
    n,
    id: id ?? '',
    kind: known?.kind ?? 'job',
    name: known?.name ?? null,
    state: known?.state ?? state,
    failure: readFailure(failure),
  }
}

function readFailure(text: string | null): { readonly message: string } | null {
  return text === null ? null : (JSON.parse(text) as { message: string })
}
