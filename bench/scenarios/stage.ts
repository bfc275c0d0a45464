import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, type Contestant, now, type Rules } from '../contest.ts'
import { checkLeft } from '../measure/left.ts'
import { type Run, RunLog } from '../measure/log.ts'
import { PostgresMeter } from '../measure/postgres.ts'
import { RedisMeter } from '../measure/redis.ts'
import type { Enqueued, LaneRule, Worked } from '../player/commands.ts'
import { Player, type PlayerProgram } from '../player/player.ts'
import { Seen } from '../player/seen.ts'
import type { Sizes } from './sizes.ts'

/** What a scenario has for one measurement: a contestant on a fresh store, and as many processes as it wants. */
export class Stage {
  readonly contestant: Contestant
  readonly sizes: Sizes
  readonly #address: Address
  readonly #program: PlayerProgram
  readonly #players: Player[] = []
  #postgres: PostgresMeter | null = null

  constructor(parts: { contestant: Contestant; sizes: Sizes; address: Address; program: PlayerProgram }) {
    this.contestant = parts.contestant
    this.sizes = parts.sizes
    this.#address = parts.address
    this.#program = parts.program
  }

  /** Starts processes that have opened the contestant's line. The first makes the tables before the others open it. */
  async players(
    count: number,
    { keep = false, rules = {} }: { keep?: boolean; rules?: Rules } = {},
  ): Promise<Player[]> {
    const started = Array.from({ length: count }, () => new Player(this.#program))
    const isFirst = this.#players.length === 0
    this.#players.push(...started)
    const { line, options } = this.contestant
    const open = (player: Player): Promise<void> =>
      player.call('open', [{ line, address: this.#address, keep, rules, options }])
    if (isFirst) await open(started[0] as Player)
    await Promise.all(started.slice(isFirst ? 1 : 0).map(open))
    return started
  }

  /** What a server tells of its work. SQLite is no server. */
  async meter(): Promise<PostgresMeter | RedisMeter | null> {
    return (await this.postgres()) ?? this.redis()
  }

  /** Null on another store. */
  async postgres(): Promise<PostgresMeter | null> {
    if (this.#address.kind !== 'postgres') return null
    this.#postgres ??= await PostgresMeter.connect(this.#address.url)
    return this.#postgres
  }

  redis(): RedisMeter | null {
    return this.#address.kind === 'redis' ? new RedisMeter(this.#address.url) : null
  }

  /** Nobody has to close anything: what is worth keeping is saved already, and the store goes away too. */
  async end(): Promise<void> {
    await Promise.all(this.#players.map((player) => player.kill()))
    await this.#postgres?.close()
  }
}

/** One of the players that were asked for. */
export function nth(players: readonly Player[], index: number): Player {
  const player = players[index]
  if (player === undefined) throw new Error(`There is no player ${index}.`)
  return player
}

/** Fills the line, as fast as it goes. */
export function fill(
  player: Player,
  count: number,
  from = 0,
  { chunk = 10_000, lanes }: { chunk?: number; lanes?: LaneRule } = {},
): Promise<Enqueued> {
  const how = { from, count, chunk, ...(lanes !== undefined && { lanes }) }
  return player.call('enqueueMany', [how], 300_000)
}

/** Waits until the workers have run so many jobs together, or the time is over. */
export async function untilRan(workers: readonly Player[], count: number, ms: number): Promise<void> {
  const end = now() + ms
  for (;;) {
    const all = await Promise.all(workers.map((worker) => worker.call('progress', [])))
    if (all.reduce((sum, { ran }) => sum + ran, 0) >= count || now() >= end) return
    await sleep(20)
  }
}

/** What several workers did together. */
export interface Outcome {
  readonly ran: number
  readonly distinct: number
  /** Every call of a handler, in the order of their beginnings, if they were logged. */
  readonly runs: readonly Run[]
  /** From the first call of a handler to the last. */
  readonly ms: number
  readonly lastAt: number
  readonly cpuMicros: number
  /** Of the largest. */
  readonly rssMb: number
}

export async function stop(workers: readonly Player[]): Promise<Outcome> {
  const all: Worked[] = await Promise.all(workers.map((worker) => worker.call('stopWorking', [])))
  const seen = new Seen()
  for (const worked of all) seen.addAll(Seen.fromText(worked.seen))
  const busy = all.filter(({ ran }) => ran > 0)
  const lastAt = Math.max(0, ...busy.map(({ lastAt }) => lastAt))
  return {
    ran: all.reduce((sum, { ran }) => sum + ran, 0),
    distinct: seen.count(),
    runs: all.flatMap(({ log }) => RunLog.read(log)).sort((a, b) => a.begin - b.begin),
    ms: lastAt - Math.min(lastAt, ...busy.map(({ firstAt }) => firstAt)),
    lastAt,
    cpuMicros: all.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    rssMb: Math.max(...all.map(({ rssMb }) => rssMb)),
  }
}

/** Compares what was enqueued, what ran and what the store still has. */
export async function check(
  player: Player,
  enqueued: number,
  { ran, distinct }: Pick<Outcome, 'ran' | 'distinct'> = { ran: 0, distinct: 0 },
): Promise<void> {
  const { open } = await player.call('count', [])
  checkLeft({ enqueued, ran, distinct, open })
}

/** Jobs per second between the first and the last. */
export function rateOf({ ran, ms }: Pick<Outcome, 'ran' | 'ms'>): number {
  if (ran < 2) throw new Error(`Only ${ran} jobs ran.`)
  return ((ran - 1) / ms) * 1_000
}
