/**
 * Looks at what needs attention, and tells the hooks. What was told, and what is still to be told, is a record of the store that every
 * server of the space shares: it changes only from the revision that was read, so two servers never tell the same thing twice, and a
 * message outlives the server that made it. It is sent after it is written down; who dies in between leaves it to the next, which
 * sends it with the same id.
 *
 * One server at a time is on duty, which only saves the others the looking.
 */
import { type Logger, messageOf, type RecordStore, type Runtime } from '../../index.ts'
import type { Attention, Check } from '../../operations/schema/wire-types.ts'
import { type AlertState, afterLook, afterSending, NO_ALERTS, type Outgoing } from './alerts.ts'
import { type AlertMessage, signed } from './message.ts'
import type { ResolvedHook } from './options.ts'
import { type Lookup, post } from './post.ts'

export interface AlertParts {
  readonly records: Pick<RecordStore, 'getRecords' | 'putRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly environment: string | null
  /** What needs attention in a space now. */
  readonly look: (space: string) => Promise<readonly Attention[]>
  /** @default the system's */
  readonly lookup?: Lookup
}

/** What is stored. */
interface Desk extends AlertState {
  /** Who looks, and until when the others leave it to them. */
  readonly duty: { readonly who: string; readonly until: number }
  /** How the last try went; null: there was none. */
  readonly last: { readonly at: number; readonly problem: string | null } | null
}

const KIND = 'alerts'
const LOOK_MS = 15_000
const DUTY_MS = 45_000
/** What nobody has touched for so long belongs to a hook that is gone. */
const KEEP_MS = 7 * 86_400_000
const POST_MS = 10_000
/** More would keep one turn for too long. */
const MOST_AT_ONCE = 20

export class AlertWatch {
  readonly #parts: AlertParts
  readonly #hooks: readonly ResolvedHook[]
  readonly #who: string
  readonly #closing = new AbortController()
  #stopTimer: () => void = () => {}
  #turn: Promise<void> = Promise.resolve()

  constructor(parts: AlertParts, hooks: readonly ResolvedHook[]) {
    this.#parts = parts
    this.#hooks = hooks
    this.#who = parts.runtime.uuid()
    if (hooks.length > 0) this.#later(0)
  }

  /** How it is told of, space by space, for the page about the system. */
  async checks(space: string): Promise<readonly Check[]> {
    const hooks = this.#hooks.filter(({ spaces }) => spaces.includes(space))
    return Promise.all(hooks.map(async (hook) => checkOf(hook, (await this.#read(hook, space)).desk)))
  }

  /** Looks no more. A message that is on its way is cut short; it is sent again by whoever comes next. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#stopTimer()
    await this.#turn
  }

  #later(ms: number): void {
    this.#stopTimer = this.#parts.runtime.timer(
      ms,
      () => {
        this.#turn = this.#all().finally(() => {
          if (!this.#closing.signal.aborted) this.#later(LOOK_MS)
        })
      },
      { background: true },
    )
  }

  async #all(): Promise<void> {
    const { logger } = this.#parts
    for (const hook of this.#hooks) {
      for (const space of hook.spaces) {
        if (this.#closing.signal.aborted) return
        await this.#serve(hook, space).catch((error: unknown) =>
          logger.warn(`Alerts of "${space}" could not be looked for; trying again.`, { error }),
        )
      }
    }
  }

  async #serve(hook: ResolvedHook, space: string): Promise<void> {
    const { runtime, look, logger } = this.#parts
    const { desk, revision } = await this.#read(hook, space)
    const now = runtime.now()
    if (desk.duty.who !== this.#who && desk.duty.until > now) return
    const seen = await look(space)
    const duty = { who: this.#who, until: now + DUTY_MS }
    const looked = afterLook(desk, seen, { rule: hook, now, makeId: () => `msg_${runtime.uuid()}` })
    const written = await this.#write(hook, space, { ...desk, ...looked, duty }, revision)
    if (written === null) return
    const { taken, problem } = await this.#send(hook, space, looked.outbox)
    if (taken.size === 0) return
    const { givenUp, ...sent } = afterSending(looked, taken, runtime.now())
    if (givenUp > 0) logger.error(`${givenUp} alerts of "${space}" reached nobody within a day: ${problem}`)
    await this.#write(hook, space, { ...sent, duty, last: { at: runtime.now(), problem } }, written)
  }

  /** Sends what is due, in its order. Where nobody answers the rest waits. */
  async #send(
    hook: ResolvedHook,
    space: string,
    outbox: readonly Outgoing[],
  ): Promise<{ readonly taken: ReadonlyMap<string, boolean>; readonly problem: string | null }> {
    const { runtime, logger } = this.#parts
    const taken = new Map<string, boolean>()
    let problem: string | null = null
    for (const message of outbox.filter(({ nextAt }) => nextAt <= runtime.now()).slice(0, MOST_AT_ONCE)) {
      const wrong = await this.#post(hook, space, message)
      if (this.#closing.signal.aborted) break
      taken.set(message.id, wrong === null)
      if (wrong === null) continue
      if (message.tries === 0) logger.warn(`An alert could not be told to ${hook.url.host}: ${wrong}`)
      problem = wrong
      break
    }
    return { taken, problem }
  }

  /** Why it was not taken; null if it was. */
  async #post(hook: ResolvedHook, space: string, message: Outgoing): Promise<string | null> {
    const { runtime, environment, lookup } = this.#parts
    const { url, keys, allowed, ca } = hook
    const body = JSON.stringify(bodyOf(message, space, environment))
    const late = new AbortController()
    const stop = runtime.timer(POST_MS, () => late.abort(new Error(`no answer within ${POST_MS} ms`)), {
      background: true,
    })
    try {
      const status = await post({
        url,
        body,
        headers: signed(keys, { id: message.id, body, now: runtime.now() }),
        allowed,
        signal: AbortSignal.any([late.signal, this.#closing.signal]),
        ...(ca === null ? {} : { ca }),
        ...(lookup === undefined ? {} : { lookup }),
      })
      if (status >= 200 && status < 300) return null
      return status >= 300 && status < 400 ? `${status}, and redirects are not followed` : `status ${status}`
    } catch (error) {
      return messageOf(late.signal.aborted ? late.signal.reason : error)
    } finally {
      stop()
    }
  }

  async #read(
    { id }: ResolvedHook,
    space: string,
  ): Promise<{ readonly desk: Desk; readonly revision: string | null }> {
    const { records } = await this.#parts.records.getRecords({ scope: space, kind: KIND, ids: [id] })
    const [record] = records
    return { desk: record ? deskOf(record.body) : EMPTY, revision: record?.revision ?? null }
  }

  /** The new revision; null if somebody else was faster. */
  async #write(
    { id }: ResolvedHook,
    space: string,
    desk: Desk,
    expect: string | null,
  ): Promise<string | null> {
    const { records, runtime } = this.#parts
    const revision = runtime.uuid()
    const record = {
      id,
      body: JSON.stringify(desk),
      revision,
      expect,
      expiresAt: runtime.now() + KEEP_MS,
    }
    const { results } = await records.putRecords({ scope: space, kind: KIND, records: [record] })
    return results[0] === 'ok' ? revision : null
  }
}

const EMPTY: Desk = { ...NO_ALERTS, duty: { who: '', until: 0 }, last: null }

function deskOf(body: string): Desk {
  try {
    return { ...EMPTY, ...(JSON.parse(body) as Partial<Desk>) }
  } catch {
    return EMPTY
  }
}

function bodyOf({ type, alert, at }: Outgoing, space: string, environment: string | null): AlertMessage {
  const { kind, level, text, link, since } = alert
  const where = environment === null ? space : `${environment}, ${space}`
  return {
    type,
    timestamp: new Date(at).toISOString(),
    text: `[${where}] ${type === 'alert.resolved' ? 'Over: ' : ''}${text}`,
    data: { space, environment, kind, level, text, link, since: new Date(since).toISOString() },
  }
}

function checkOf({ url }: ResolvedHook, { last, outbox }: Desk): Check {
  const name = `alerts to ${url.host}`
  if (last === null || last.problem === null) {
    const text = last === null ? 'There was nothing to tell yet.' : 'The last alert was taken.'
    return { name, status: 'ok', text, fix: null }
  }
  return {
    name,
    status: 'failed',
    text: `Alerts are not taken, and ${outbox.length} wait: ${last.problem}`,
    fix: 'See whether the address of the hook is right and answers with 200. Alerts are sent again for a day.',
  }
}
