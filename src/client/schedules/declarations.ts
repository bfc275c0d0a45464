import { messageOf, SkepError } from '../../core/errors.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { decodeSpec, hasSameSlots, type Schedule } from '../../core/schedules/schedule.ts'
import { nextSlot } from '../../core/schedules/slots.ts'
import type { Maker } from '../../maintenance/scheduler.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { PutSchedule } from '../../store/schedules.ts'
import type { Store } from '../../store/store.ts'
import type { Prepare } from '../enqueue/enqueue.ts'
import type { ResolvedSchedule, ScheduleDefinition } from './schedule.ts'

export interface ScheduleEnv {
  readonly space: string
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly prepare: Prepare
}

/** What a sync did to the store. */
export interface SyncSummary {
  /** Schedules that were made or changed. */
  readonly changed: number
  readonly unchanged: number
  /** Schedules of the same owner that are not declared any more. */
  readonly removed: number
}

/** How often a put is tried again when others change the same schedules meanwhile. */
const MOST_TRIES = 20

/** What this process declares in code, and whether the store knows. */
export class Declarations {
  readonly #env: ScheduleEnv
  /** By owner; '' for what was declared without one. */
  readonly #owners = new Map<string, readonly ScheduleDefinition[]>()
  #makers: ReadonlyMap<string, Maker> = new Map()
  #isPending = false

  constructor(env: ScheduleEnv) {
    this.#env = env
  }

  /** Those with a payload by function, once they are synced. */
  get makers(): ReadonlyMap<string, Maker> {
    return this.#makers
  }

  /** Also of one that no worker here has brought into the store. */
  async makerOf(id: string): Promise<Maker | null> {
    const definition = [...this.#owners.values()].flat().find((one) => one.id === id)
    return definition ? (await definition.resolve(this.#env.prepare)).make : null
  }

  add(schedules: readonly ScheduleDefinition[], owner: string | undefined): void {
    if (owner !== undefined) assertName('Owner', owner)
    const key = owner ?? ''
    const kept = owner === undefined ? (this.#owners.get(key) ?? []) : []
    const others = [...this.#owners].flatMap(([name, list]) => (name === key ? [] : list))
    const ids = [...others, ...kept, ...schedules].map(({ id }) => id)
    const twice = ids.find((id, index) => ids.indexOf(id) !== index)
    if (twice !== undefined) {
      throw new SkepError('SCHEDULE_INVALID', `Schedule ${show(twice)} is declared twice. Keep one.`, {
        facts: { id: twice },
      })
    }
    this.#owners.set(key, [...kept, ...schedules])
    this.#isPending = true
  }

  /** For a worker's loop: what cannot be declared is logged, and keeps nobody else. */
  async syncPending(): Promise<void> {
    if (!this.#isPending) return
    await this.sync({
      onInvalid: (id, error) =>
        this.#env.logger.error(`Schedule ${show(id)} could not be declared: ${messageOf(error)}`),
    })
  }

  /** Brings all that is declared into the store. Without `onInvalid`, the first that is not valid is thrown. */
  async sync({
    store = this.#env.store,
    onInvalid,
  }: {
    readonly store?: Store
    readonly onInvalid?: (id: string, error: unknown) => void
  } = {}): Promise<SyncSummary> {
    this.#isPending = false
    try {
      const makers = new Map<string, Maker>()
      const summary = { changed: 0, unchanged: 0, removed: 0 }
      for (const [owner, definitions] of this.#owners) {
        const resolved: ResolvedSchedule[] = []
        for (const definition of definitions) {
          try {
            resolved.push(await definition.resolve(this.#env.prepare))
          } catch (error) {
            if (!onInvalid) throw error
            onInvalid(definition.id, error)
          }
        }
        for (const { id, make } of resolved) if (make) makers.set(id, make)
        const { changed, unchanged } = await putSchedules({ ...this.#env, store }, resolved, owner)
        summary.changed += changed
        summary.unchanged += unchanged
        // What is declared but not valid just now is no reason to remove what is stored.
        const declared = new Set(definitions.map(({ id }) => id))
        if (owner !== '') summary.removed += await this.#removeOthers(store, owner, declared)
      }
      this.#makers = makers
      if (summary.changed + summary.removed > 0) tellOfChange(this.#env)
      return summary
    } catch (error) {
      this.#isPending = true
      throw error
    }
  }

  async #removeOthers(store: Store, owner: string, declared: ReadonlySet<string>): Promise<number> {
    const { space } = this.#env
    const gone: string[] = []
    for (let cursor: string | null = null, isLast = false; !isLast; isLast = cursor === null) {
      const page: Awaited<ReturnType<Store['listSchedules']>> = await store.listSchedules({
        space,
        declaredBy: owner,
        limit: LIMITS.schedulesBatch,
        cursor,
      })
      gone.push(...page.schedules.map(({ id }) => id).filter((id) => !declared.has(id)))
      cursor = page.cursor
    }
    if (gone.length === 0) return 0
    return (await store.removeSchedules({ space, ids: gone, declaredBy: owner })).removed.length
  }
}

export function tellOfChange({ notifier, space }: Pick<ScheduleEnv, 'notifier' | 'space'>): void {
  notifier.publish([{ kind: 'schedules', space }])
}

/**
 * Puts schedules: reads what is there, works out the next slots, and writes on condition that nothing has changed in
 * between, else from the beginning. `declaredBy` is null for those made at run time, which never replace a declared one.
 */
export async function putSchedules(
  env: ScheduleEnv,
  wanted: readonly ResolvedSchedule[],
  declaredBy: string | null,
): Promise<{ readonly changed: number; readonly unchanged: number }> {
  const { store, space, runtime } = env
  let changed = 0
  for (let from = 0; from < wanted.length; from += LIMITS.schedulesBatch) {
    let left = wanted.slice(from, from + LIMITS.schedulesBatch)
    for (let tries = 1; left.length > 0; tries++) {
      const reply = await store.getSchedules({ space, ids: left.map(({ id }) => id) })
      const differing = left.flatMap((one, index): [ResolvedSchedule, PutSchedule][] => {
        const stored = reply.schedules[index] ?? null
        if (stored && declaredBy === null) assertNotDeclared(stored)
        if (stored?.spec === one.text && stored.declaredBy === declaredBy) return []
        if (stored) tellOfTakeover(env, stored, declaredBy)
        return [[one, draftOf(space, one, declaredBy, stored, reply.now, runtime.uuid())]]
      })
      if (differing.length === 0) break
      if (tries > MOST_TRIES) throw changing(differing.map(([{ id }]) => id))
      const { results } = await store.putSchedules({ schedules: differing.map(([, draft]) => draft) })
      changed += results.filter((result) => result === 'ok').length
      left = differing.filter((_, index) => results[index] === 'refused').map(([one]) => one)
    }
  }
  return { changed, unchanged: wanted.length - changed }
}

function draftOf(
  space: string,
  { id, spec, text, make }: ResolvedSchedule,
  declaredBy: string | null,
  stored: Schedule | null,
  now: number,
  revision: string,
): PutSchedule {
  const nextAt =
    stored && keepsPosition(stored, spec)
      ? stored.nextAt
      : // The clock may have been set back: a slot that was fired is not fired again.
        nextSlot(spec, Math.max(now, stored?.lastSlot ?? 0))
  const expect = stored && { revision: stored.revision, nextAt: stored.nextAt }
  return { space, id, revision, spec: text, dynamic: make !== null, declaredBy, nextAt, expect }
}

/** A slot that is overdue stays so when only the job is changed, or a deploy would lose it. */
function keepsPosition(stored: Schedule, spec: ResolvedSchedule['spec']): boolean {
  try {
    return hasSameSlots(decodeSpec(stored), spec)
  } catch {
    return false
  }
}

function tellOfTakeover({ logger }: ScheduleEnv, stored: Schedule, declaredBy: string | null): void {
  if (stored.declaredBy === declaredBy || stored.declaredBy === '' || stored.declaredBy === null) return
  logger.warn(
    `Schedule ${show(stored.id)} was declared by ${show(stored.declaredBy)} and is now declared by ` +
      `${declaredBy === '' ? 'code without an owner' : show(declaredBy)}.`,
  )
}

/** What is declared in code is changed in code: otherwise the next deploy would undo it. */
export function assertNotDeclared({ id, declaredBy }: Schedule): void {
  if (declaredBy === null) return
  throw new SkepError(
    'SCHEDULE_DECLARED',
    `Schedule ${show(id)} is declared in code${declaredBy === '' ? '' : ` by ${show(declaredBy)}`}. Change it there, or pause it.`,
    { facts: { id, owner: declaredBy === '' ? null : declaredBy } },
  )
}

export function changing(ids: readonly string[]): SkepError {
  return new SkepError(
    'SCHEDULE_CHANGED',
    `Others keep changing ${ids.slice(0, 5).map(show).join(', ')}, so it was not changed. Try again.`,
    { facts: { ids } },
  )
}
