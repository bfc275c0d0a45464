import { type Duration, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'
import { assertOptions, optionKeys } from '../core/options.ts'
import {
  ERROR_KIND,
  ERRORS_KEPT_MS,
  type ErrorGroupBody,
  isMuted,
  type Mute,
  readGroup,
  sparkOf,
} from '../metrics/error-groups.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Store } from '../store/store.ts'
import { assertWhole } from '../worker/options.ts'

/** Errors that are alike: of one queue, with one name and, numbers, ids and names left out, one message. */
export interface ErrorGroupView {
  /** The same for all processes, see `fingerprintOf`. */
  readonly id: string
  readonly queue: string
  readonly name: string
  /** Of the newest of them. */
  readonly message: string
  readonly firstAt: Date
  readonly lastAt: Date
  /** How often it happened, retried runs included. */
  readonly count: number
  /** How often a job died of it. */
  readonly dead: number
  /** How often in each of the last 24 hours, oldest first. */
  readonly spark: readonly number[]
  /** The newest job to which it happened, and where. */
  readonly sampleJob: string
  readonly sampleStack: string | null
  /** How often it happened on each version of the program: the ten seen last, newest first. */
  readonly versions: readonly {
    readonly version: string
    readonly count: number
    readonly firstAt: Date
    readonly lastAt: Date
  }[]
  readonly muted: { readonly by: string; readonly until: Date | null } | null
}

export interface ErrorListOptions {
  readonly queue?: string
  /** Only those that are muted, or only those that are not. @default both */
  readonly muted?: boolean
  /** @default 50, at most 200 */
  readonly limit?: number
  readonly cursor?: string
}

const LIST_KEYS = optionKeys<ErrorListOptions>('errors.list()', {
  queue: true,
  muted: true,
  limit: true,
  cursor: true,
})
const MUTE_KEYS = optionKeys<{ by?: string; for?: Duration }>('errors.mute()', { by: true, for: true })

/**
 * A list looks at so many groups and puts the newest first. Records are in the order of their ids, which tell nothing of time.
 * A space with more kinds of errors than this has other worries, and each group can still be got by its id.
 */
export const GROUPS_LISTED = 1_000
const PAGE = 200
const TRIES = 10

interface ErrorsEnv {
  readonly store: Store
  readonly runtime: Runtime
  readonly space: string
  readonly ready: () => Promise<unknown>
  /** The store with the patience of an enqueue, see {@link patientStore}, and the check before its first call. */
  readonly patient: Store
  readonly readyToWrite: () => Promise<unknown>
  /** Writes what this process has gathered. */
  readonly flush: () => Promise<unknown>
}

/** Groups of errors, as told by the workers of all processes. Each is kept for 14 days after the last error. */
export class ErrorGroups {
  readonly #env: ErrorsEnv

  constructor(env: ErrorsEnv) {
    this.#env = env
  }

  /** One page of groups, those with the newest errors first. */
  async list(
    options: ErrorListOptions = {},
  ): Promise<{ readonly groups: readonly ErrorGroupView[]; readonly cursor: string | null }> {
    assertOptions(LIST_KEYS, options)
    const { queue, muted, limit = 50, cursor } = options
    assertWhole('limit', limit, 1, PAGE)
    const after = cursor === undefined ? null : readCursor(cursor)
    const now = await this.#begin()
    const groups = (await this.#load())
      .filter(({ body }) => queue === undefined || body.queue === queue)
      .filter(({ body }) => muted === undefined || isMuted(body, now) === muted)
      .sort(newestFirst)
      .filter((group) => after === null || newestFirst(after, group) < 0)
    const page = groups.slice(0, limit)
    const last = page.at(-1)
    return {
      groups: page.map(({ id, body }) => viewOfGroup(id, body, now)),
      cursor: last !== undefined && groups.length > limit ? `${last.body.lastAt}.${last.id}` : null,
    }
  }

  /** A group by its id, or null. */
  async get(id: string): Promise<ErrorGroupView | null> {
    const now = await this.#begin()
    const stored = await this.#read(id)
    return stored === null ? null : viewOfGroup(id, stored.body, now)
  }

  /** Marks a group as known, so that nobody is bothered by it: for a while, or until it is unmuted. Null: there is none. */
  async mute(
    id: string,
    options: { readonly by?: string; readonly for?: Duration } = {},
  ): Promise<ErrorGroupView | null> {
    assertOptions(MUTE_KEYS, options)
    const forMs = options.for === undefined ? null : toMs('for', options.for)
    const until = forMs === null ? null : this.#env.runtime.now() + forMs
    return this.#setMuted(id, { by: String(options.by ?? ''), until })
  }

  unmute(id: string): Promise<ErrorGroupView | null> {
    return this.#setMuted(id, null)
  }

  async #setMuted(id: string, muted: Mute | null): Promise<ErrorGroupView | null> {
    const { patient, runtime, space, readyToWrite } = this.#env
    await readyToWrite()
    await this.#env.flush()
    const now = runtime.now()
    for (let tries = 0; tries < TRIES; tries++) {
      const stored = await this.#read(id, patient)
      if (stored === null && tries > 0) return null
      if (stored === null) {
        // What this process has gathered could not be written while the store was away.
        await this.#env.flush()
        continue
      }
      const body: ErrorGroupBody = { ...stored.body, muted }
      const { results } = await patient.putRecords({
        scope: space,
        kind: ERROR_KIND,
        records: [
          {
            id,
            body: JSON.stringify(body),
            revision: runtime.uuid(),
            expect: stored.revision,
            expiresAt: Math.max(now, body.lastAt) + ERRORS_KEPT_MS,
          },
        ],
      })
      if (results[0] === 'ok') return viewOfGroup(id, body, now)
    }
    throw new SkepError(
      'RECORD_CHANGED',
      `Others keep changing error group ${show(id)}, so it was not changed. Try again.`,
      { facts: { id } },
    )
  }

  async #begin(): Promise<number> {
    await this.#env.ready()
    await this.#env.flush()
    return this.#env.runtime.now()
  }

  async #read(
    id: string,
    store: Store = this.#env.store,
  ): Promise<{ readonly body: ErrorGroupBody; readonly revision: string } | null> {
    if (!/^[0-9a-f]{16}$/.test(id)) {
      throw new SkepError('OPTION_INVALID', `${show(id)} is not the id of an error group.`)
    }
    const { space } = this.#env
    const { records } = await store.getRecords({ scope: space, kind: ERROR_KIND, ids: [id] })
    const body = records[0] ? readGroup(records[0].body) : null
    return records[0] && body ? { body, revision: records[0].revision } : null
  }

  async #load(): Promise<Group[]> {
    const { store, space } = this.#env
    const groups: Group[] = []
    let from = ''
    for (let seen = 0; seen < GROUPS_LISTED; ) {
      const { records, more } = await store.listRecords({ scope: space, kind: ERROR_KIND, from, limit: PAGE })
      for (const { id, body } of records) {
        const read = readGroup(body)
        if (read !== null) groups.push({ id, body: read })
      }
      const last = records.at(-1)
      if (!more || last === undefined) break
      seen += records.length
      // The first id after it.
      from = `${last.id} `
    }
    return groups
  }
}

interface Group {
  readonly id: string
  readonly body: ErrorGroupBody
}

function newestFirst(
  a: { readonly id: string; readonly body: { readonly lastAt: number } },
  b: { readonly id: string; readonly body: { readonly lastAt: number } },
): number {
  return b.body.lastAt - a.body.lastAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

function readCursor(cursor: string): { readonly id: string; readonly body: { readonly lastAt: number } } {
  const [lastAt, id] = String(cursor).split('.')
  if (/^\d{1,16}$/.test(lastAt ?? '') && id !== undefined) return { id, body: { lastAt: Number(lastAt) } }
  throw new SkepError(
    'OPTION_INVALID',
    'The cursor is not one that a list of error groups gave. Begin without one.',
  )
}

function viewOfGroup(id: string, body: ErrorGroupBody, now: number): ErrorGroupView {
  const { firstAt, lastAt, hours: _hours, versions, muted, ...rest } = body
  return {
    id,
    ...rest,
    firstAt: new Date(firstAt),
    lastAt: new Date(lastAt),
    spark: sparkOf(body, now),
    versions: versions.map((one) => ({
      ...one,
      firstAt: new Date(one.firstAt),
      lastAt: new Date(one.lastAt),
    })),
    muted:
      muted !== null && isMuted(body, now)
        ? { by: muted.by, until: muted.until === null ? null : new Date(muted.until) }
        : null,
  }
}
