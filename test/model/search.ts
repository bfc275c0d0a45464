/**
 * Breadth-first search of every world that can come about. Worlds that differ only in the names of tokens and workers,
 * or in what the clock says, are the same. Since the search is breadth-first the first fault has the shortest trace.
 */
import type { Job } from '../../src/core/jobs/job.ts'
import { allEnded, stateFault, stepFault } from './invariants.ts'
import { RULES, type Rules } from './store.ts'
import {
  type Bounds,
  beginning,
  type Message,
  moves,
  type Run,
  type Truth,
  type Worker,
  type World,
} from './world.ts'

export interface Found {
  readonly states: number
  readonly transitions: number
  /** Everything was seen. Otherwise the search ended at a fault, or at its limit. */
  readonly isComplete: boolean
  readonly violations: readonly Violation[]
}

export interface Violation {
  readonly fault: string
  /** What happened, from the beginning. */
  readonly trace: readonly string[]
}

/**
 * Searches until all is seen, a fault is found, or there are more than `limit` worlds. When all is seen, it is also
 * judged whether every job can still end, from everywhere, by steps that need no luck.
 */
export function search(bounds: Bounds, rules: Rules = RULES, limit: number = Infinity): Found {
  const graph = new Graph()
  const first = beginning(rules, bounds)
  graph.add(keyOf(first), -1, 'the beginning')
  let frontier: [number, World][] = [[0, first]]
  let transitions = 0
  while (frontier.length > 0) {
    const next: [number, World][] = []
    for (const [from, world] of frontier) {
      if (allEnded(world)) graph.ended(from)
      for (const move of moves(rules, bounds, world)) {
        transitions++
        const { known, id } = graph.add(keyOf(move.next), from, move.label)
        if (move.isHealthy) graph.link(from, id)
        // Looked at on every step, also on those that lead to a known world.
        const fault =
          move.fault ?? stepFault(world, move.next) ?? (known ? null : stateFault(bounds, move.next))
        if (fault !== null) {
          const trace = [...graph.trace(from), move.label]
          return { states: graph.size, transitions, isComplete: false, violations: [{ fault, trace }] }
        }
        if (!known) next.push([id, move.next])
      }
      if (graph.size > limit) return { states: graph.size, transitions, isComplete: false, violations: [] }
    }
    frontier = next
  }
  const stuck = graph.stuck()
  const violations = stuck === null ? [] : [{ fault: 'some job can never end', trace: graph.trace(stuck) }]
  return { states: graph.size, transitions, isComplete: true, violations }
}

/** The worlds seen, how each was first reached, and the healthy ways between them. */
class Graph {
  readonly #ids = new Map<string, number>()
  readonly #parents: number[] = []
  readonly #labels: string[] = []
  readonly #from: number[] = []
  readonly #to: number[] = []
  readonly #ended: number[] = []

  get size(): number {
    return this.#ids.size
  }

  add(key: string, parent: number, label: string): { known: boolean; id: number } {
    const id = this.#ids.get(key)
    if (id !== undefined) return { known: true, id }
    const fresh = this.#ids.size
    this.#ids.set(key, fresh)
    this.#parents.push(parent)
    this.#labels.push(label)
    return { known: false, id: fresh }
  }

  link(from: number, to: number): void {
    if (from === to) return
    this.#from.push(from)
    this.#to.push(to)
  }

  ended(id: number): void {
    this.#ended.push(id)
  }

  trace(id: number): string[] {
    const labels: string[] = []
    for (let at = id; at > 0; at = this.#parents[at] as number) labels.push(this.#labels[at] as string)
    return labels.reverse()
  }

  /** A world from which healthy steps alone lead to no end, the nearest one; null if there is none. */
  stuck(): number | null {
    const incoming = incomingOf(this.size, this.#from, this.#to)
    const good = new Uint8Array(this.size)
    const open = [...this.#ended]
    for (const id of open) good[id] = 1
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      for (let at = incoming.start[id] as number; at < (incoming.start[id + 1] as number); at++) {
        const from = incoming.sources[at] as number
        if (good[from] === 1) continue
        good[from] = 1
        open.push(from)
      }
    }
    const bad = good.indexOf(0)
    return bad < 0 ? null : bad
  }
}

/** For each world the worlds with a way to it, packed into two arrays. */
function incomingOf(
  size: number,
  from: readonly number[],
  to: readonly number[],
): { start: Uint32Array; sources: Uint32Array } {
  const start = new Uint32Array(size + 1)
  for (const id of to) start[id + 1] = (start[id + 1] as number) + 1
  for (let id = 0; id < size; id++) start[id + 1] = (start[id + 1] as number) + (start[id] as number)
  const place = start.slice()
  const sources = new Uint32Array(to.length)
  to.forEach((id, index) => {
    sources[place[id] as number] = from[index] as number
    place[id] = (place[id] as number) + 1
  })
  return { start, sources }
}

// ── the name of a world ──────────────────────────────────────────────────────────────────────────

/** The same for worlds that differ in names only. The two workers may change places. */
export function keyOf(world: World): string {
  const [a, b] = world.workers as [Worker, Worker]
  const [one, other] = [look(world, a), look(world, b)]
  if (one < other) return named(world, [a, b])
  if (one > other) return named(world, [b, a])
  const keys = [named(world, [a, b]), named(world, [b, a])]
  return keys.sort()[0] as string
}

/** What a worker looks like without the names of its tokens. */
function look({ now, store }: World, { name, runs, open }: Worker): string {
  let text = open === null ? '' : `o${open.job}`
  for (const { job, ending, sureUntil } of runs) text += `${job}${ending ?? left(sureUntil, now)},`
  for (const job of store.jobs) if (job?.state === 'running') text += job.worker === name ? '+' : '-'
  return text
}

type Names = Map<string, number>

function named({ now, store, truths, net }: World, workers: readonly Worker[]): string {
  // Only tokens that can still be worth something get a name of their own.
  const names: Names = new Map()
  let key = ''
  for (let number = 0; number < store.jobs.length; number++) {
    const job = store.jobs[number] ?? null
    key += `${jobKey(job, truths[number] as Truth, now, workers, names)};`
    const token = store.discarded[number]?.token
    if (token) key += `d${nameOf(names, token)};`
  }
  for (const { runs, open } of workers) {
    key += `|${joined(runs.map((run) => runKey(run, now, names)))}`
    if (open !== null) key += `o${open.job}${names.get(open.token) ?? 'x'}`
  }
  return `${key}|${joined(net.map((message) => messageKey(message, names)))}`
}

function joined(keys: string[]): string {
  return keys.length > 1 ? keys.sort().join(',') : (keys[0] ?? '')
}

function nameOf(names: Names, token: string): number {
  let name = names.get(token)
  if (name === undefined) {
    name = names.size
    names.set(token, name)
  }
  return name
}

function jobKey(
  job: Job | null,
  { isCancelled, ended }: Truth,
  now: number,
  workers: readonly Worker[],
  names: Names,
): string {
  const end = ended ? `${ended.ending}${ended.isRescue ? '!' : nameOf(names, ended.token)}` : ''
  if (job === null) return `-${end}`
  const token = job.token === null ? '' : nameOf(names, job.token)
  const counts = `${job.generation}.${job.starts}.${job.errors}.${job.lost}.${job.snoozes}`
  const cancelled = `${isCancelled ? 'c' : ''}${job.cancelReason === null ? '' : 'r'}`
  const worker = job.state === 'running' ? workers.findIndex(({ name }) => name === job.worker) : ''
  const lease = job.leaseUntil === null ? '' : left(job.leaseUntil, now)
  const due = job.state === 'delayed' ? left(job.dueAt, now) : ''
  return `${job.state} ${counts}${cancelled}t${token}w${worker}l${lease}u${due}${end}`
}

function runKey(run: Run, now: number, names: Names): string {
  const name = names.get(run.token)
  // Whatever a worker does with a lease that is gone, it will be refused.
  if (name === undefined) return `${run.job}x${run.ending === null ? '' : 'e'}`
  const end = run.ending ?? `${run.knowsCancel ? 'k' : ''}s${left(run.sureUntil, now)}`
  return `${run.job}t${name}${end}`
}

function messageKey({ job, token, ending, rescue, onlyIfExpired }: Message, names: Names): string {
  return `${job}t${names.get(token) ?? 'x'}${ending}${rescue ? '!' : ''}${onlyIfExpired ? 'o' : ''}`
}

function left(until: number, now: number): number {
  return Math.max(0, until - now)
}
