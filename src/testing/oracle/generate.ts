import { groupExpiresAt } from '../../core/flows/groups.ts'
import { JOB_STATES, type Job } from '../../core/jobs/job.ts'
import { isPossible } from '../../core/jobs/transitions.ts'
import { KEYS, SLICES } from '../../core/lanes/key-range.ts'
import type { Verdict } from '../../core/policies/policy.ts'
import type { ClaimCall, Selection, Settlement, SettleReply, Source, Store } from '../../store/store.ts'
import { memoryStore } from '../../stores/memory/store.ts'
import { type Random, seededRandom } from '../random.ts'
import { idOf, tokenOf } from '../store/samples.ts'
import { type Command, jobsIn, type Step, send } from './commands.ts'
import {
  type Draw,
  drawJob,
  LANES,
  type Memory,
  PRIORITIES,
  QUEUES,
  SPACES,
  START,
  sampleOf,
  shuffled,
} from './draw.ts'
import { drawFlow, drawMade, drawMoved, FLOWING } from './draw-flows.ts'
import { declareStrict, drawLimiting, LIMITING } from './draw-limits.ts'
import { drawRecords } from './draw-records.ts'
import { flowsOf } from './flows.ts'
import { isRemembered } from './ledger.ts'

/** Repeating a call is only meant for a while: a store may forget after this. */
const REPEAT_WITHIN_MS = 300_000

/** Makes a history of `length` commands. It follows a memory store along, to do what makes sense at each step. */
export async function generateCommands(seed: number, length: number): Promise<Command[]> {
  const random = seededRandom(seed)
  const model = memoryStore()
  const memory = emptyMemory()
  const commands: Command[] = []
  let now = START
  let tokens = 0
  const used = new Set<number>()

  const number = (): number => {
    let n = random.int(1, 999_999)
    while (used.has(n)) n = random.int(1, 999_999)
    used.add(n)
    return n
  }
  const fresh = (): string => idOf(number())
  const token = (): string => tokenOf(++tokens)

  // Half of the histories know no limits: what most queues are, and the stores' own way for them.
  const limited = random.chance(0.5)
  const soon: Step[] = limited ? SPACES.map(declareStrict) : []
  // And half know neither groups nor runs.
  const flowing = random.chance(0.5)
  const always = { random, memory, fresh, number, token, limited, flowing, soon }
  let present: Job[] = []
  let flows: Pick<Draw, 'groups' | 'runs'> = { groups: [], runs: [] }
  while (commands.length < length) {
    const step = soon.shift() ?? draw({ ...always, ...flows, present, now })
    if (step === null) continue
    const command: Command = { ...step, by: random.chance(0.5) ? 1 : 0 }
    commands.push(command)
    if (command.do === 'pass') now += command.ms
    remember(memory, command, await send(model, command, now), now)
    const after = await jobsOf(model, memory)
    const ids = new Set(after.map(({ id }) => id))
    for (const job of present) {
      if (!ids.has(job.id) && isRemembered(job, now)) memory.left.push({ id: job.id, at: now })
    }
    present = after
    if (flowing) flows = await presentFlows(model, memory)
  }
  return commands
}

function emptyMemory(): Memory {
  return {
    jobs: new Map(),
    leases: [],
    settled: [],
    left: [],
    groups: new Map(),
    planned: [],
    runs: new Map(),
    slots: [],
    told: [],
    added: [],
    taken: new Set(),
  }
}

async function presentFlows(model: Store, memory: Memory): Promise<Pick<Draw, 'groups' | 'runs'>> {
  const found = await flowsOf(model, { groups: [...memory.groups.keys()], runs: [...memory.runs.keys()] })
  return { groups: [...found.groups.values()], runs: [...found.runs.values()] }
}

async function jobsOf(model: Store, memory: Memory): Promise<Job[]> {
  const ids = [...memory.jobs.keys()]
  const found = await Promise.all(SPACES.map((space) => model.get({ space, ids })))
  return found.flatMap(({ jobs }) => jobs.filter((job) => job !== null))
}

function remember(memory: Memory, command: Command, replies: readonly unknown[], now: number): void {
  for (const job of jobsIn([command])) if (!memory.jobs.has(job.id)) memory.jobs.set(job.id, job)
  if (command.do === 'claim' && !command.again) {
    const { jobs } = replies[0] as { jobs: { space: string; id: string; token: string }[] }
    memory.leases.push(...jobs.map(({ space, id, token }) => ({ space, id, token })))
  }
  if (command.do === 'settle') {
    const { results, claimed } = replies[0] as SettleReply
    for (const [n, settlement] of command.settlements.entries()) {
      if (results[n]?.status === 'ok') memory.settled.push({ settlement, at: now })
    }
    if (!command.claim?.again)
      memory.leases.push(...(claimed?.jobs ?? []).map(({ space, id, token }) => ({ space, id, token })))
  }
}

function draw(it: Draw): Step | null {
  const { random } = it
  if (random.chance(0.05)) return drawRecords(it)
  if (it.flowing && random.chance(0.2)) return drawFlow(random.pick(FLOWING), it)
  const usual = it.flowing && random.chance(0.3) ? ENDING : WEIGHTED
  const kind = random.pick(it.limited && random.chance(0.15) ? LIMITING : usual)
  switch (kind) {
    case 'pass':
      return { do: 'pass', ms: random.pick([1, 1, 10, 500, 1_000, 5_000, 60_000, 3_600_000, 90_000_000]) }
    case 'insert':
      return drawInsert(it)
    case 'claim':
      return { do: 'claim', ...drawClaim(it) }
    case 'extend': {
      const leases = sampleOf(random, it.memory.leases.slice(-12), 4)
      return leases.length === 0 ? null : { do: 'extend', leases, leaseMs: random.pick([1, 1_000, 30_000]) }
    }
    case 'settle':
      return drawSettle(it)
    case 'change':
      return drawChange(it)
    case 'rescue':
      return {
        do: 'rescue',
        sources: drawSources(random),
        workerIds: random.chance(0.3) ? [random.pick(WORKERS)] : [],
        limit: random.int(1, 5),
        verdict: { ...drawVerdict(it), count: 'lost', result: null },
      }
    case 'list':
      return { do: 'list', ...drawSelection(it), limit: random.pick([1, 2, 3, 10]) }
    case 'limit':
    case 'hold':
    case 'release':
    case 'lanes':
      return drawLimiting(kind, it)
    case 'count':
      return {
        do: 'count',
        ...drawSelection(it),
        ...(random.chance(0.3) ? { limit: random.pick([1, 2, 10]) } : {}),
        ...(random.chance(0.4) ? { look: random.pick([1, 2, 3, 10]) } : {}),
      }
    case 'prune':
      return drawPrune(it)
  }
}

/** Now, or when something is just over, or just not yet. */
function drawPrune({ random, present, groups, runs, now, soon }: Draw): Step | null {
  if (present.length + groups.length + runs.length === 0) return null
  const ends = [...present, ...runs].map(({ expiresAt }) => expiresAt).concat(groups.map(groupExpiresAt))
  const ahead = ends.filter((at) => at !== null).filter((at) => at > now)
  if (ahead.length === 0 || random.chance(0.7)) return { do: 'prune', limit: 1_000 }
  soon.push({ do: 'prune', limit: 1_000 })
  return { do: 'pass', ms: random.pick(ahead) - now - random.int(0, 1) }
}

const WEIGHTED = [
  ...(['pass', 'pass', 'pass', 'insert', 'insert', 'insert', 'insert', 'claim', 'claim', 'claim'] as const),
  ...(['settle', 'settle', 'settle', 'settle', 'extend', 'change', 'change', 'rescue'] as const),
  ...(['list', 'count', 'prune'] as const),
]
/** What members need to come to their end, and back. */
const ENDING = ['claim', 'settle', 'settle', 'change'] as const
const WORKERS = ['worker-a', 'worker-b', 'worker-c'] as const

function drawInsert(it: Draw): Step {
  const { random, memory, present } = it
  const made = it.flowing && random.chance(0.4) ? drawMade(it) : null
  const jobs = Array.from({ length: random.int(1, made ? 6 : 4) }, () => drawJob(it))
  const drawn = jobs.length
  // Jobs that are there already, and those that lately left in a call that is said to be a repetition.
  const again = random.chance(0.3)
  // What joins an open group has its number from there, so nobody else inserts it.
  const joined = new Set(memory.added.flatMap((call) => call.jobs.map(({ id }) => id)))
  const known = present.flatMap(({ id }) => (joined.has(id) ? [] : (memory.jobs.get(id) ?? [])))
  if (random.chance(0.3)) jobs.push(...sampleOf(random, known, 2))
  if (again) {
    const lately = memory.left.filter(({ at }) => it.now - at < REPEAT_WITHIN_MS)
    for (const { id } of sampleOf(random, lately, 2)) {
      const job = memory.jobs.get(id)
      if (job && !joined.has(id)) jobs.push(job)
    }
  }
  // Of jobs that nobody has seen before it is said, as clients do.
  const fresh = !again && made === null && jobs.length === drawn
  return { do: 'insert', jobs: shuffled(random, jobs), again, ...(fresh && { fresh }), ...made }
}

function drawSources(random: Random): Source[] {
  const all = SPACES.flatMap((space) => QUEUES.map((queue) => ({ space, queue })))
  const chosen = random.chance(0.4) ? shuffled(random, all) : sampleOf(random, all, 2)
  // A large claim takes portions.
  const least = random.chance(0.15) ? 200 : 1
  return (chosen.length > 0 ? chosen : all).map((source) => ({ ...source, limit: least + random.int(0, 5) }))
}

/** Some are about a range of the keys. */
function withKeys(random: Random, sources: readonly Source[]): Source[] {
  if (random.chance(0.7)) return [...sources]
  return sources.map((source) => {
    const [from, to] = [random.int(0, SLICES - 1), random.int(1, SLICES)]
    const keys = {
      from: (Math.min(from, to - 1) * KEYS) / SLICES,
      to: (Math.max(from + 1, to) * KEYS) / SLICES,
    }
    return random.chance(0.3) ? source : { ...source, keys }
  })
}

function drawClaim({ random, present, token, memory }: Draw): Omit<ClaimCall, 'now'> {
  const sources = withKeys(random, drawSources(random))
  const known = memory.leases.slice(-12)
  if (random.chance(0.15) && known.length > 0) {
    const lease = { workerId: random.pick(WORKERS), leaseMs: random.pick([1, 1_000, 30_000]) }
    return { sources, limit: 1_000, token: random.pick(known).token, again: true, ...lease }
  }
  const lease = { workerId: random.pick(WORKERS), token: token(), leaseMs: random.pick([1, 1_000, 30_000]) }
  if (random.chance(0.8) || present.length === 0)
    return { sources, limit: random.pick([1, 2, 3, 5, 8, 300]), ...drawFirst(random, present), ...lease }
  // Which of the named jobs are taken when there is not room for all is left open, so there is room.
  const ids = sampleOf(random, present, 4).map(({ id }) => id)
  return { sources: sources.map((source) => ({ ...source, limit: 9 })), limit: 99, ids, ...lease }
}

/** Some of these go before all others. */
function drawFirst(random: Random, jobs: readonly { readonly id: string }[]): Pick<ClaimCall, 'first'> {
  return random.chance(0.2) ? { first: sampleOf(random, jobs, 4).map(({ id }) => id) } : {}
}

/** A process that does not hold the lease ends it: one that may repeat that, or one that may not. */
function drawRescue(random: Random, token: string): Pick<Settlement, 'rescue' | 'repeatToken'> {
  return random.chance(0.5) ? { rescue: true } : { rescue: true, repeatToken: `${token.slice(0, -1)}~` }
}

function drawVerdict({ random, limited }: Draw): Verdict {
  const to = random.pick([
    'done',
    'done',
    'failed',
    'dead',
    'cancelled',
    'ready',
    'ready',
    'delayed',
  ] as const)
  const waits = to === 'ready' || to === 'delayed'
  return {
    to,
    keepMs: waits ? null : random.pick([null, 0, 1_000, 3_600_000, 3_600_000]),
    delayMs: to === 'delayed' ? random.pick([1, 1_000, 60_000]) : 0,
    count: to === 'done' ? null : random.pick(['errors', 'timeouts', 'lost', 'snoozes', null] as const),
    refund: waits && random.chance(0.2),
    keepPlace: to === 'ready' && random.chance(0.3),
    keepCancelledMs: random.pick([0, 60_000]),
    result: to === 'done' ? random.pick([null, '1.0', '"é"']) : null,
    failure: to === 'done' || random.chance(0.3) ? null : '{"kind":"error","message":"boom"}',
    ...(limited && random.chance(0.1) ? { lane: random.pick([{ waitMs: 1_000 }, { pause: 'stuck' }]) } : {}),
  }
}

function drawSettle(it: Draw): Step | null {
  const { random, memory, present } = it
  const live = present.filter(({ state }) => state === 'running')
  const settlements: Settlement[] = []
  // Many alike are what a busy worker sends, so stores treat them in a way of their own.
  if (random.chance(0.3) && live.length > 0) {
    const { token } = random.pick(live)
    const alike = drawVerdict(it)
    for (const job of live.filter((other) => other.token === token)) {
      const result = alike.to === 'done' ? random.pick([null, '1.0', '"é"', job.payload]) : null
      settlements.push({
        space: job.space,
        id: job.id,
        token: token as string,
        verdict: { ...alike, result },
      })
    }
  }
  for (const { space, id, token } of sampleOf(random, live, 4)) {
    const enqueue = random.chance(0.3) ? { enqueue: [drawJob(it)] } : {}
    const early = random.chance(0.1) ? { onlyIfExpired: true } : {}
    const rescue = random.chance(0.2) ? drawRescue(random, token as string) : {}
    const along = it.flowing && random.chance(0.3) ? drawMoved(it, settlements) : {}
    const how = { ...early, ...rescue, ...enqueue, ...along }
    settlements.push({ space, id, token: token as string, verdict: drawVerdict(it), ...how })
  }
  const repeats = memory.settled.filter(({ at }) => it.now - at < REPEAT_WITHIN_MS)
  if (random.chance(0.3))
    settlements.push(...sampleOf(random, repeats, 2).map(({ settlement }) => settlement))
  // The holder who comes late, and the rescuer who does.
  if (random.chance(0.2)) {
    const stale = sampleOf(random, memory.leases, 2)
    const isRescue = random.chance(0.3)
    settlements.push(
      ...stale.map((lease) => ({
        ...lease,
        verdict: drawVerdict(it),
        ...(isRescue ? drawRescue(random, lease.token) : {}),
      })),
    )
  }
  if (random.chance(0.1)) {
    const jobs = sampleOf(random, present, 1)
    settlements.push(
      ...jobs.map(({ space, id }) => ({ space, id, token: it.token(), verdict: drawVerdict(it) })),
    )
  }
  // One lease is settled once in a call: what two verdicts for one job come to is nobody's promise.
  const isSame = (one: Settlement, other: Settlement): boolean =>
    one.id === other.id && one.space === other.space
  const distinct = settlements.filter((one, n) => settlements.findIndex((other) => isSame(one, other)) === n)
  const brought = distinct.flatMap(({ enqueue = [] }) => enqueue)
  const claim = random.chance(0.4) ? { claim: { ...drawClaim(it), ...drawFirst(random, brought) } } : {}
  return distinct.length === 0 && !claim.claim ? null : { do: 'settle', settlements: distinct, ...claim }
}

const ACTIONS = [
  ...(['cancel', 'cancel', 'bury', 'retry', 'retry', 'promote', 'remove'] as const),
  ...(['prioritize', 'prioritize'] as const),
]
/** When it is due then, from now. */
const RESCHEDULED_MS = [-1_000, 0, 1, 10_000, 3_600_000]

function drawChange(it: Draw): Step {
  const { random, memory, present } = it
  const drawn = it.flowing && random.chance(0.3) ? 'retry' : random.pick(ACTIONS)
  // By the clock and not by chance, so that what a seed means stays as it is.
  const action = drawn === 'promote' && it.now % 2 === 0 ? 'reschedule' : drawn
  const rest = {
    failure: random.chance(0.5) ? null : '{"kind":"cancel","message":"enough é"}',
    keepMs: random.pick([0, 1_000, 3_600_000, 3_600_000]),
    priority: random.chance(0.3) ? 0 : random.pick(PRIORITIES),
    dueAt: it.now + RESCHEDULED_MS[it.now % RESCHEDULED_MS.length]!,
    ...(action === 'retry' && it.now % 3 === 0 && { earlierMs: it.now % 7 }),
  }
  if (random.chance(0.4)) {
    const { space, ...selection } = drawSelection(it)
    return { do: 'change', action, space, target: { ...selection, limit: random.int(1, 4) }, ...rest }
  }
  const fit = present.filter(({ state }) => isPossible(action, state))
  const gone = [...memory.jobs.keys()].filter((id) => !present.some((job) => job.id === id))
  const ids = [
    ...sampleOf(random, random.chance(0.7) ? fit : present, 4).map(({ id }) => id),
    ...sampleOf(random, gone, random.chance(0.2) ? 1 : 0),
  ]
  // Somebody who runs one of them may ask next.
  const leases = present.flatMap(({ space, id, token, state }) =>
    state === 'running' && ids.includes(id) ? [{ space, id, token: token as string }] : [],
  )
  if (leases.length > 0 && random.chance(0.3)) it.soon.push({ do: 'extend', leases, leaseMs: 1_000 })
  const space = random.chance(0.8) ? SPACES[0] : SPACES[1]
  return { do: 'change', action, space, target: { ids }, ...rest }
}

/** Jobs of a queue and state, mostly of one that has some. */
function drawSelection({ random, now, present, limited }: Draw): Selection & { readonly space: string } {
  const like = random.chance(0.75) && present.length > 0 ? random.pick(present) : null
  const selection = {
    space: like?.space ?? random.pick(SPACES),
    queue: like?.queue ?? random.pick(QUEUES),
    state: like?.state ?? random.pick(JOB_STATES),
  }
  if (random.chance(0.6)) return selection
  const where = {
    ...(random.chance(0.5) ? { after: now - random.pick([0, 1_000, 100_000]) } : {}),
    ...(random.chance(0.3) ? { before: now + random.pick([-1, 1, 10_000]) } : {}),
    ...(random.chance(0.4) ? { text: random.pick(['é', '%', 'boom', '1', '"']) } : {}),
    ...(limited && random.chance(0.5) ? { lane: random.pick([like?.lane ?? '', ...LANES, '']) } : {}),
  }
  return { ...selection, where }
}
