import { messageOf } from '../core/errors.ts'
import type { ClaimedJob } from '../core/jobs/job.ts'
import { covers, type HoldTarget } from '../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../core/lanes/lanes.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { RecordStore, StoredRecord } from '../store/records.ts'

/** A command to a worker is a record of this kind with the id of the worker. It is removed when it was carried out. */
export const COMMAND_KIND = 'command'

/** `pause`: claims no more jobs. `resume`: ends a pause. `stop`: drains and stops. */
export const WORKER_COMMANDS = ['pause', 'stop', 'resume'] as const
export type WorkerCommand = (typeof WORKER_COMMANDS)[number]

/** Commands expire after this time, long after every live worker has read them. */
export const COMMAND_KEPT_MS = 86_400_000

export interface CommandRecord {
  readonly command: WorkerCommand
  readonly by: string
  readonly at: number
}

export function readCommand(body: string): CommandRecord | null {
  try {
    const read = JSON.parse(body) as Partial<CommandRecord> | null
    if (!WORKER_COMMANDS.includes(read?.command as WorkerCommand)) return null
    return { command: read?.command as WorkerCommand, by: String(read?.by ?? ''), at: Number(read?.at ?? 0) }
  } catch {
    return null
  }
}

/** The id of the record of a recall whose caller waits for its confirmation. */
export function recallId(workerId: string, callId: string): string {
  return `${workerId}/${callId}`
}

export function readRecall(body: string): RecallTarget | null {
  try {
    const { space, queue, lane } = JSON.parse(body) as Partial<RecallTarget>
    const isTarget = [space, queue, lane].every((text) => text === null || typeof text === 'string')
    return isTarget ? ({ space, queue, lane } as RecallTarget) : null
  } catch {
    return null
  }
}

export interface CommandReaderParts {
  readonly store: Pick<RecordStore, 'listRecords' | 'putRecords' | 'removeRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly workerId: string
  /** Carries a command out. Resolves when it is done, or certain to be. */
  readonly obey: (command: CommandRecord) => Promise<void>
  /** Hands back what has not started of a target. When it returns, nothing of what was taken before starts any more. */
  readonly recall: (target: RecallTarget) => void
}

/** Reads the commands to a worker and removes those that were carried out. Errors here affect no job. */
export class CommandReader {
  readonly #parts: CommandReaderParts
  #looking: Promise<void> | null = null
  #isAskedAgain = false

  constructor(parts: CommandReaderParts) {
    this.#parts = parts
  }

  /** Never rejects. A call during a read causes another read, because the caller may know of a newer command. */
  look(): Promise<void> {
    this.#isAskedAgain = this.#looking !== null
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookAll(): Promise<void> {
    do {
      this.#isAskedAgain = false
      try {
        await this.#look()
      } catch (error) {
        this.#parts.logger.debug(`A worker could not read its commands: ${messageOf(error)}`)
        return
      }
    } while (this.#isAskedAgain)
  }

  async #look(): Promise<void> {
    const { store, runtime, space, workerId, obey, logger } = this.#parts
    const place = { scope: space, kind: COMMAND_KIND }
    // Another command may arrive while one is carried out; it is then the next.
    for (let seen = 0; seen < 5; seen++) {
      // '0' follows '/': this range has the command and the recalls of the worker.
      const { records } = await store.listRecords({
        ...place,
        from: workerId,
        before: `${workerId}0`,
        limit: 500,
      })
      const record = records.find(({ id }) => id === workerId)
      await this.#recall(records.filter((one) => one !== record))
      if (record === undefined) return
      const command = readCommand(record.body)
      if (command !== null) {
        logger.info(
          `Received the command "${command.command}"${command.by === '' ? '' : ` from ${command.by}`}.`,
        )
        await obey(command)
      }
      // Removed, by expiry, only if it is still the command that was carried out.
      const done = {
        id: workerId,
        body: record.body,
        revision: runtime.uuid(),
        expect: record.revision,
        expiresAt: 1,
      }
      const { results } = await store.putRecords({ ...place, records: [done] })
      if (results[0] === 'ok') return
    }
  }

  async #recall(records: readonly StoredRecord[]): Promise<void> {
    if (records.length === 0) return
    const { store, space, recall } = this.#parts
    for (const { body } of records) {
      const target = readRecall(body)
      if (target !== null) recall(target)
    }
    // The caller reads the removal as the confirmation.
    await store.removeRecords({ scope: space, kind: COMMAND_KIND, ids: records.map(({ id }) => id) })
  }
}

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
