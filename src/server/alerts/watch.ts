/**
 * Checks for issues and posts them to the hooks. The state and the outbox are a store record shared by all
 * servers of the space and updated by compare-and-swap, so two servers never send the same alert twice, and a
 * message survives the server that created it. It is stored before it is sent; if the server dies in between,
 * another one sends it with the same id.
 *
 * One server at a time holds a lease for this, which only saves the others the work.
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
  /** Returns the current issues of a space. */
  readonly look: (space: string) => Promise<readonly Attention[]>
  /** @default the system resolver */
  readonly lookup?: Lookup
}

/** The stored record. */
interface AlertRecord extends AlertState {
  /** The server that holds the lease, and until when. */
  readonly duty: { readonly who: string; readonly until: number }
  /** The result of the last delivery attempt; null if there was none. */
  readonly last: { readonly at: number; readonly problem: string | null } | null
}

const KIND = 'alerts'
const LOOK_MS = 15_000
const DUTY_MS = 45_000
/** A record not updated for this long belongs to a removed hook. */
const KEEP_MS = 7 * 86_400_000
const POST_MS = 10_000
/** Messages sent per cycle, so that a cycle stays short. */
const MAX_PER_CYCLE = 20

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

  /** The delivery status of each hook, for the system page. */
  async checks(space: string): Promise<readonly Check[]> {
    const hooks = this.#hooks.filter(({ spaces }) => spaces.includes(space))
    return Promise.all(hooks.map(async (hook) => checkOf(hook, (await this.#read(hook, space)).state)))
  }

  /** Stops. A message being sent is aborted; another server sends it again. */
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
          logger.warn(`Checking for alerts in space "${space}" failed; retrying.`, { error }),
        )
      }
    }
  }

  async #serve(hook: ResolvedHook, space: string): Promise<void> {
    const { runtime, look, logger } = this.#parts
    const { state, revision } = await this.#read(hook, space)
    const now = runtime.now()
    if (state.duty.who !== this.#who && state.duty.until > now) return
    const seen = await look(space)
    const duty = { who: this.#who, until: now + DUTY_MS }
    const looked = afterLook(state, seen, { rule: hook, now, makeId: () => `msg_${runtime.uuid()}` })
    const written = await this.#write(hook, space, { ...state, ...looked, duty }, revision)
    if (written === null) return
    const { taken, problem } = await this.#send(hook, space, looked.outbox)
    if (taken.size === 0) return
    const { givenUp, ...sent } = afterSending(looked, taken, runtime.now())
    if (givenUp > 0)
      logger.error(`${givenUp} alerts of space "${space}" could not be delivered within a day: ${problem}`)
    await this.#write(hook, space, { ...sent, duty, last: { at: runtime.now(), problem } }, written)
  }

  /** Sends due messages in order. Stops at the first failure. */
  async #send(
    hook: ResolvedHook,
    space: string,
    outbox: readonly Outgoing[],
  ): Promise<{ readonly taken: ReadonlyMap<string, boolean>; readonly problem: string | null }> {
    const { runtime, logger } = this.#parts
    const taken = new Map<string, boolean>()
    let problem: string | null = null
    for (const message of outbox.filter(({ nextAt }) => nextAt <= runtime.now()).slice(0, MAX_PER_CYCLE)) {
      const wrong = await this.#post(hook, space, message)
      if (this.#closing.signal.aborted) break
      taken.set(message.id, wrong === null)
      if (wrong === null) continue
      if (message.tries === 0) logger.warn(`An alert could not be delivered to ${hook.url.host}: ${wrong}`)
      problem = wrong
      break
    }
    return { taken, problem }
  }

  /** Posts one message. Returns the error, or null on success. */
  async #post(hook: ResolvedHook, space: string, message: Outgoing): Promise<string | null> {
    const { runtime, environment, lookup } = this.#parts
    const { url, keys, allowed, ca } = hook
    const body = JSON.stringify(bodyOf(message, space, environment))
    const late = new AbortController()
    const stop = runtime.timer(POST_MS, () => late.abort(new Error(`no response within ${POST_MS} ms`)), {
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
  ): Promise<{ readonly state: AlertRecord; readonly revision: string | null }> {
    const { records } = await this.#parts.records.getRecords({ scope: space, kind: KIND, ids: [id] })
    const [record] = records
    return { state: record ? stateOf(record.body) : EMPTY, revision: record?.revision ?? null }
  }

  /** The new revision; null if another server updated the record first. */
  async #write(
    { id }: ResolvedHook,
    space: string,
    state: AlertRecord,
    expect: string | null,
  ): Promise<string | null> {
    const { records, runtime } = this.#parts
    const revision = runtime.uuid()
    const record = {
      id,
      body: JSON.stringify(state),
      revision,
      expect,
      expiresAt: runtime.now() + KEEP_MS,
    }
    const { results } = await records.putRecords({ scope: space, kind: KIND, records: [record] })
    return results[0] === 'ok' ? revision : null
  }
}

const EMPTY: AlertRecord = { ...NO_ALERTS, duty: { who: '', until: 0 }, last: null }

function stateOf(body: string): AlertRecord {
  try {
    return { ...EMPTY, ...(JSON.parse(body) as Partial<AlertRecord>) }
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
    text: `[${where}] ${type === 'alert.resolved' ? 'Resolved: ' : ''}${text}`,
    data: { space, environment, kind, level, text, link, since: new Date(since).toISOString() },
  }
}

function checkOf({ url }: ResolvedHook, { last, outbox }: AlertRecord): Check {
  const name = `alerts to ${url.host}`
  if (last === null || last.problem === null) {
    const text = last === null ? 'No alert was sent yet.' : 'The last alert was delivered.'
    return { name, status: 'ok', text, fix: null }
  }
  return {
    name,
    status: 'failed',
    text: `Alerts cannot be delivered, ${outbox.length} pending: ${last.problem}`,
    fix: 'Check that the URL of the hook is correct and responds with 200. Alerts are retried for one day.',
  }
}
