import type { NewGroup } from '../../core/flows/groups.ts'
import type { NewRun, RunMove } from '../../core/flows/runs.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import type { Verdict } from '../../core/policies/policy.ts'
import type {
  AddMembersCall,
  AuditCall,
  AuditReply,
  ListRunsCall,
  MoveRunsCall,
  TellCall,
} from '../../store/flows.ts'
import type { HoldCall, ReleaseCall } from '../../store/holds.ts'
import type { LanesCall, SetLimitsCall } from '../../store/limits.ts'
import type { ListRecordsCall, PutRecordsCall, RecordPlace, RemoveRecordsCall } from '../../store/records.ts'
import type {
  ChangeCall,
  ClaimCall,
  CountCall,
  ExpiredCall,
  ExtendCall,
  InsertCall,
  ListCall,
  SettleCall,
  Store,
} from '../../store/store.ts'

/**
 * One step of a random history: plain data that holds everything a call needs. It refers to no earlier reply,
 * so any step can be left out of a history and the rest still makes sense.
 */
export type Command = Step & {
  /** The handle through which it is sent, when there are two. */
  readonly by: 0 | 1
}

export type Step =
  | { readonly do: 'pass'; readonly ms: number }
  | ({ readonly do: 'insert' } & Omit<InsertCall, 'now'>)
  | ({ readonly do: 'claim' } & Omit<ClaimCall, 'now'>)
  | ({ readonly do: 'extend' } & Omit<ExtendCall, 'now'>)
  | ({ readonly do: 'settle' } & Omit<SettleCall, 'now'>)
  | ({ readonly do: 'change' } & Omit<ChangeCall, 'now'>)
  | ({ readonly do: 'rescue'; readonly verdict: Verdict } & Omit<ExpiredCall, 'now'>)
  | ({ readonly do: 'list' } & Omit<ListCall, 'cursor'>)
  | ({ readonly do: 'count' } & CountCall)
  | { readonly do: 'prune'; readonly limit: number }
  | ({ readonly do: 'limit' } & Omit<SetLimitsCall, 'now'>)
  | ({ readonly do: 'hold' } & Omit<HoldCall, 'now'>)
  | ({ readonly do: 'release' } & Omit<ReleaseCall, 'now'>)
  | ({ readonly do: 'lanes' } & Omit<LanesCall, 'now'>)
  | ({ readonly do: 'move' } & Omit<MoveRunsCall, 'now'>)
  | ({ readonly do: 'tell' } & Omit<TellCall, 'now'>)
  | ({ readonly do: 'add' } & Omit<AddMembersCall, 'now'>)
  | ({ readonly do: 'runs' } & Omit<ListRunsCall, 'cursor'>)
  | ({ readonly do: 'putRecords' } & Omit<PutRecordsCall, 'now'>)
  | ({ readonly do: 'removeRecords' } & Omit<RemoveRecordsCall, 'now'>)
  | ({ readonly do: 'listRecords' } & Omit<ListRecordsCall, 'now'>)
  | ({ readonly do: 'audit' } & Omit<AuditCall, 'now' | 'cursor'>)

/** What a command came to: every reply it got, in order. */
export type Replies = readonly unknown[]

/** Sends a command to a store at the time `now`. */
export async function send(store: Store, command: Command, now: number): Promise<Replies> {
  switch (command.do) {
    case 'pass':
      return []
    case 'insert':
      return [await store.insert({ ...strip(command), now })]
    case 'claim': {
      const reply = await store.claim({ ...strip(command), now })
      return [command.ids ? { ...reply, jobs: reply.jobs.toSorted(byId) } : reply]
    }
    case 'extend':
      return [await store.extend({ ...strip(command), now })]
    case 'settle':
      return [await store.settle({ ...strip(command), now })]
    case 'change': {
      const reply = await store.change({ ...strip(command), now })
      // Of a selection only the jobs that were changed are promised.
      const isSelection = !('ids' in command.target)
      const results = reply.results.filter(({ status }) => status !== 'refused')
      return [isSelection ? { ...reply, results } : reply]
    }
    case 'rescue': {
      const { verdict, ...call } = strip(command)
      const found = await store.expired({ ...call, now })
      const settlements = found.leases.map(({ space, id, token, over }) => ({
        space,
        id,
        token,
        verdict,
        onlyIfExpired: over,
        rescue: true,
      }))
      return [found, await store.settle({ settlements, now })]
    }
    case 'list': {
      const pages = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<Store['list']>> = await store.list({ ...strip(command), cursor })
        pages.push(page.jobs)
        cursor = page.cursor
      } while (cursor !== null)
      return pages
    }
    case 'count':
      return [await store.count(strip(command))]
    case 'prune':
      return [await store.prune({ ...strip(command), now })]
    case 'limit': {
      const reply = await store.setLimits({ ...strip(command), now })
      return [reply, await store.limits({ space: command.space })]
    }
    case 'hold':
      return [await store.hold({ ...strip(command), now }), await holdsOf(store, now)]
    case 'release':
      return [await store.release({ ...strip(command), now }), await holdsOf(store, now)]
    case 'lanes':
      return [await store.lanes({ ...strip(command), now })]
    case 'putRecords':
      return [await store.putRecords({ ...strip(command), now }), await recordsAt(store, command, now)]
    case 'removeRecords':
      return [await store.removeRecords({ ...strip(command), now }), await recordsAt(store, command, now)]
    case 'listRecords':
      return [await store.listRecords({ ...strip(command), now })]
    case 'move':
      return [await store.moveRuns({ ...strip(command), now })]
    case 'tell':
      return [await store.tell({ ...strip(command), now })]
    case 'add':
      return [await store.addMembers({ ...strip(command), now })]
    case 'runs': {
      const pages = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<Store['listRuns']>> = await store.listRuns({
          ...strip(command),
          cursor,
        })
        pages.push(page.runs)
        cursor = page.cursor
      } while (cursor !== null)
      return pages
    }
    case 'audit': {
      const pages = []
      let cursor: string | null = null
      do {
        const page: AuditReply = await store.auditGroups({ ...strip(command), cursor, now })
        pages.push(page)
        cursor = page.cursor
      } while (cursor !== null)
      return pages
    }
  }
}

/** The holds that stand, in an order of our own. */
async function holdsOf(store: Store, now: number): Promise<unknown> {
  const { holds } = await store.holds({ now })
  return holds.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

async function recordsAt(store: Store, { scope, kind }: RecordPlace, now: number): Promise<unknown> {
  return store.listRecords({ scope, kind, limit: 100, now })
}

function strip<T extends Command>(command: T): Omit<T, 'do' | 'by'> {
  const { do: _, by: __, ...call } = command
  return call
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

/** Every job that a history inserts or tries to, or puts down for a group to enqueue. */
export function jobsIn(commands: readonly Command[]): NewJob[] {
  return [...insertedBy(commands), ...groupsIn(commands).flatMap(({ jobs }) => Object.values(jobs))]
}

/** Every job that is inserted because a command says so. */
export function insertedBy(commands: readonly Command[]): NewJob[] {
  const moved = movesIn(commands).flatMap(({ jobs }) => jobs)
  const brought = commands.flatMap((command) => {
    if (command.do === 'insert' || command.do === 'add') return command.jobs
    if (command.do === 'settle') return command.settlements.flatMap(({ enqueue }) => enqueue ?? [])
    return []
  })
  return [...brought, ...moved]
}

export function groupsIn(commands: readonly Command[]): NewGroup[] {
  const moved = movesIn(commands).flatMap(({ groups }) => groups)
  const brought = commands.flatMap((command) => {
    if (command.do === 'insert') return command.groups ?? []
    if (command.do === 'settle') return command.settlements.flatMap(({ groups }) => groups ?? [])
    return []
  })
  return [...brought, ...moved]
}

export function runsIn(commands: readonly Command[]): NewRun[] {
  const moved = movesIn(commands).flatMap(({ runs }) => runs)
  return [...commands.flatMap((command) => (command.do === 'insert' ? (command.runs ?? []) : [])), ...moved]
}

export function movesIn(commands: readonly Command[]): RunMove[] {
  return commands.flatMap((command) => {
    if (command.do === 'move') return command.moves
    if (command.do === 'settle') return command.settlements.flatMap(({ move }) => move ?? [])
    return []
  })
}
