/**
 * The audit of a Redis store: its append-only file. Every change that a script made is in it, as one transaction, in the
 * order in which they happened, and what is not in it was not acknowledged. Only the time is missing, so the store under
 * audit gets a client that has every script write down the time as well.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import type { IoRedisLike } from '../../../src/redis.ts'
import { BULK_INSERT } from '../../../src/stores/redis/lua/jobs/bulk-insert.ts'
import { PLAIN_CLAIM } from '../../../src/stores/redis/lua/jobs/plain-claim.ts'
import { PLAIN_INSERT } from '../../../src/stores/redis/lua/jobs/plain-insert.ts'
import { SCRIPT } from '../../../src/stores/redis/lua/script.ts'
import {
  type Contents,
  claimIn,
  hashOf,
  jobIn,
  leaseIn,
  queueBytes,
  setOf,
  uuidIn,
} from '../../redis/contents.ts'
import type { AuditEntry, AuditRow } from '../history.ts'
import { slotIn } from '../slot.ts'

// ── writing ──────────────────────────────────────────────────────────────────────────────────────

/** What only looks need not be timed. */
const LOOKS =
  'get list count counts workers listHolds limits lanes readNotes getSchedules listSchedules dueSchedules getRuns listRuns countRuns getGroups outcomes openMembers'

const TIMED = `
do
  local looks = { ${LOOKS.split(' ')
    .map((name) => `${name} = true`)
    .join(', ')} }
  if not looks[ARGV[#ARGV - 1]] then
    local time = redis.call('TIME')
    redis.call('SET', KEYS[#KEYS], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
  end
end
`
const shaOf = (text: string): string => createHash('sha1').update(text).digest('hex')
/** What stands for each script and for its hash. */
const TIMED_SCRIPTS: ReadonlyMap<unknown, string> = new Map(
  [SCRIPT, PLAIN_INSERT, BULK_INSERT, PLAIN_CLAIM].flatMap((text) => [
    [text, TIMED + text],
    [shaOf(text), shaOf(TIMED + text)],
  ]),
)

/** A client for the store under audit. */
export function timedClient(url: string): IoRedisLike {
  return timed(new Redis(url, { lazyConnect: true }))
}

function timed(client: Redis): IoRedisLike {
  return {
    callBuffer(command, ...args) {
      if (command !== 'EVALSHA' && command !== 'EVAL') return client.callBuffer(command, ...args)
      const [script, count, ...rest] = args
      const keys = rest.slice(0, Number(count))
      const key = String(keys[0]).replace(/[^}]*$/, ':time')
      const timed = TIMED_SCRIPTS.get(script) as string
      return client.callBuffer(command, timed, keys.length + 1, ...keys, key, ...rest.slice(keys.length))
    },
    duplicate: (...options) => timed(client.duplicate(...(options as unknown as [object]))),
    disconnect: () => client.disconnect(),
    on: (event, listener) => client.on(event, listener),
    get status() {
      return client.status
    },
  }
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────

/** Reads the log of a server, and tells every change of every job of the store with this prefix. */
export function readRedisAudit(files: readonly string[], prefix: string): AuditEntry[] {
  const replay = new Replay(prefix)
  for (const file of files) for (const command of commandsIn(readFileSync(file))) replay.take(command)
  return replay.entries
}

/** All jobs as they are now. */
export function redisFinal(contents: Contents): Map<string, AuditRow> {
  const delayed = new Set([...setOf(contents, 'delayed')].map((member) => member.slice(-16)))
  const kept = {
    hash: (name: Hash) => hashOf(contents, name),
    isDelayed: (id: string) => delayed.has(id.slice(0, 16)),
  }
  const ids = [...hashOf(contents, 'jobs').keys(), ...hashOf(contents, 'archive').keys()]
  return new Map(ids.map((id) => [uuidIn(id), rowOf(id, kept) as AuditRow]))
}

const HASHES = ['names', 'jobs', 'held', 'claims', 'archive'] as const
type Hash = (typeof HASHES)[number]

/** What a job is made of. */
interface Kept {
  hash(name: Hash): ReadonlyMap<string, Buffer>
  isDelayed(id: string): boolean
}

class Replay implements Kept {
  readonly entries: AuditEntry[] = []
  readonly #keys: ReadonlyMap<string, Hash | 'delayed' | 'time'>
  readonly #hashes: Record<Hash, Map<string, Buffer>> = {
    names: new Map(),
    jobs: new Map(),
    held: new Map(),
    claims: new Map(),
    archive: new Map(),
  }
  readonly #delayed = new Map<string, string>()
  /** Jobs that the present transaction touches, as they were before it. */
  readonly #before = new Map<string, AuditRow | null>()
  #isOpen = false
  #at = 0

  constructor(prefix: string) {
    this.#keys = new Map([...HASHES, 'delayed', 'time'].map((name) => [`{${prefix}}:${name}`, name as Hash]))
  }

  hash(name: Hash): ReadonlyMap<string, Buffer> {
    return this.#hashes[name]
  }

  isDelayed(id: string): boolean {
    return this.#delayed.has(id.slice(0, 16))
  }

  take(command: readonly Buffer[]): void {
    const name = String(command[0]).toUpperCase()
    if (name === 'MULTI') this.#isOpen = true
    else if (name === 'EXEC') {
      this.#isOpen = false
      this.#end()
    } else {
      const key = this.#keys.get(String(command[1]))
      if (key !== undefined) this.#change(name, key, command.slice(2))
      if (!this.#isOpen) this.#end()
    }
  }

  #change(name: string, key: Hash | 'delayed' | 'time', args: readonly Buffer[]): void {
    if (key === 'time') this.#at = Number(args[0])
    else if (key === 'delayed') this.#changeDelayed(name, args)
    else {
      const hash = this.#hashes[key]
      const step = name === 'HSET' ? 2 : 1
      if (name !== 'HSET' && name !== 'HDEL') throw new Error(`${name} on ${key} is new.`)
      for (let at = 0; at < args.length; at += step) {
        const field = (args[at] as Buffer).toString('latin1')
        // It belongs to no job, and keeps the hash from being a small one.
        if (field === '') continue
        // Whoever settles may claim in the same call, also what it has just put back or enqueued.
        if (key === 'held' && name === 'HSET') this.#tell(field)
        if (key !== 'names' && key !== 'claims') this.#touch(field)
        if (name === 'HSET') hash.set(field, args[at + 1] as Buffer)
        else hash.delete(field)
      }
    }
  }

  #changeDelayed(name: string, args: readonly Buffer[]): void {
    const texts = args.map((arg) => arg.toString('latin1'))
    if (name === 'ZADD') {
      for (let at = 1; at < texts.length; at += 2) {
        const member = texts[at] as string
        this.#touch(member.slice(-16))
        this.#delayed.set(member.slice(-16), member)
      }
      return
    }
    const [low = '', high = ''] = texts.map((text) => text.slice(1))
    const gone =
      name === 'ZREM'
        ? texts
        : [...this.#delayed.values()].filter((member) => member >= low && member <= high)
    if (name !== 'ZREM' && !(name === 'ZREMRANGEBYLEX' && texts.every((text) => text.startsWith('[')))) {
      throw new Error(`${name} ${texts.join(' ')} on delayed is new.`)
    }
    for (const member of gone) {
      this.#touch(member.slice(-16))
      if (this.#delayed.get(member.slice(-16)) === member) this.#delayed.delete(member.slice(-16))
    }
  }

  #touch(id: string): void {
    if (!this.#before.has(id)) this.#before.set(id, rowOf(id, this))
  }

  #end(): void {
    for (const id of this.#before.keys()) this.#tell(id)
  }

  /** Tells how a job changed since it was touched. */
  #tell(id: string): void {
    const before = this.#before.get(id)
    if (before === undefined) return
    this.#before.delete(id)
    const after = rowOf(id, this)
    if (JSON.stringify(before) === JSON.stringify(after)) return
    this.entries.push({ seq: this.entries.length, at: this.#at, id: uuidIn(id), before, after })
  }
}

function rowOf(id: string, kept: Kept): AuditRow | null {
  const record = kept.hash('jobs').get(id) ?? kept.hash('archive').get(id)
  if (!record) return null
  const { q, enqueuedAt, more } = jobIn(record)
  const held = kept.hash('jobs').has(id) ? kept.hash('held').get(id) : undefined
  const lease = held && leaseIn(held)
  const claim = lease && kept.hash('claims').get(`${lease.token}\0${queueBytes(lease.q)}`)
  const name = kept.hash('names').get(`\0${q}`)?.toString() ?? ''
  return {
    queue: name.slice(name.indexOf('\0') + 1),
    state: more.z ?? (lease ? 'running' : kept.isDelayed(id) ? 'delayed' : 'ready'),
    generation: more.n ?? 0,
    dueAt: more.d ?? enqueuedAt,
    token: lease?.token ?? null,
    worker: claim ? claimIn(claim).worker : null,
    leaseUntil: lease?.until ?? null,
    cancelReason: more.k ?? null,
    counters: {
      // A start is counted in the lease until it ends.
      starts: (more.st ?? 0) + (lease ? 1 : 0),
      errors: more.er ?? 0,
      timeouts: more.ti ?? 0,
      lost: more.lo ?? 0,
      snoozes: more.sn ?? 0,
    },
    unique: more.u ? { key: more.u[0], scope: more.u[1] } : null,
    finishedAt: more.fi ?? null,
    expiresAt: more.ex ?? null,
    result: more.r ?? null,
    lane: more.l ?? null,
    cost: more.c ?? 1,
    ...slotIn(more.h ?? null),
  }
}

/** The commands of a log. A last one that was cut off is one nobody was told of. */
function* commandsIn(log: Buffer): Generator<Buffer[]> {
  let at = 0
  const line = (): string | null => {
    const end = log.indexOf('\r\n', at)
    if (end < 0) return null
    const text = log.toString('latin1', at, end)
    at = end + 2
    return text
  }
  for (let head = line(); head !== null; head = line()) {
    if (head.startsWith('#')) continue
    if (!head.startsWith('*')) throw new Error(`The log of Redis has "${head.slice(0, 40)}" in it.`)
    const command: Buffer[] = []
    for (let left = Number(head.slice(1)); left > 0; left--) {
      const length = Number(line()?.slice(1) ?? Number.NaN)
      if (!(at + length + 2 <= log.length)) return
      command.push(log.subarray(at, at + length))
      at += length + 2
    }
    yield command
  }
}
