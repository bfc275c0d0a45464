import { GROUP_EVENTS, isOpen, NEEDS_ALL, type NewGroup, OPEN } from '../../core/flows/groups.ts'
import { type NewRun, RUN_STATUSES, type Run, type RunMove } from '../../core/flows/runs.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import type { InsertCall, Settlement } from '../../store/store.ts'
import { groupOf, runOf } from '../store/flows/group-samples.ts'
import type { Step } from './commands.ts'
import { type Draw, drawJob, drawSpace, drawUnique, sampleOf, takeSlot } from './draw.ts'

export const FLOWING = ['tell', 'tell', 'add', 'add', 'move', 'move', 'move', 'runs', 'audit'] as const

/** What is told, how runs move, and what is asked about them. */
export function drawFlow(kind: (typeof FLOWING)[number], it: Draw): Step | null {
  const { random, memory } = it
  switch (kind) {
    case 'tell': {
      const known = random.chance(0.25) && memory.told.length > 0
      const early =
        random.chance(0.3) && memory.planned.length > 0 ? random.pick(memory.planned).id : undefined
      const slot = known ? random.pick(memory.told) : takeSlot(it, { group: early })
      if (slot === null) return null
      if (!known) memory.told.push(slot)
      const space = random.chance(0.95) ? slot.space : drawSpace(random)
      return { do: 'tell', ...slot, space, result: random.pick([null, '1.0', '"é"']) }
    }
    case 'add':
      return drawAdd(it)
    case 'move': {
      const moves = drawMoves(it)
      return moves.length === 0 ? null : { do: 'move', moves }
    }
    case 'runs':
      return memory.runs.size === 0 ? null : { do: 'runs', ...drawFilter(it) }
    case 'audit':
      return memory.groups.size === 0 ? null : { do: 'audit', limit: random.pick([1, 3, 100]) }
  }
}

/** Members for an open group, and perhaps its seal; also for one that is sealed, and some that were added before. */
function drawAdd(it: Draw): Step | null {
  const { random, memory } = it
  if (memory.added.length > 0 && random.chance(0.15))
    return { do: 'add', ...random.pick(memory.added), again: true }
  const open = it.groups.filter(isOpen)
  const group = open.length > 0 && random.chance(0.9) ? random.pick(open) : it.groups[0]
  if (group === undefined) return null
  const { id, space } = group
  const jobs = Array.from({ length: random.int(0, 3) }, (_, n) => ({
    ...drawJob({ ...it, flowing: false }, space),
    member: { group: id, n },
  }))
  const call = { space, group: id, jobs, seal: random.chance(0.3), again: random.chance(0.3) }
  if (jobs.length > 0) memory.added.push(call)
  return { do: 'add', ...call, space: random.chance(0.95) ? space : drawSpace(random) }
}

/** Groups and runs that come with an insert: new ones, one that was planned, and some that are there already. */
export function drawMade(it: Draw): Pick<InsertCall, 'groups' | 'runs'> {
  const { random, memory } = it
  const groups = drawGroups(it, null, drawSpace(random))
  const ready = memory.planned.length > 0 && random.chance(0.5) ? memory.planned.shift() : undefined
  if (ready) groups.push(ready)
  const known = it.groups.flatMap(({ id }) => memory.groups.get(id) ?? [])
  if (random.chance(0.2)) groups.push(...sampleOf(random, known, 2))
  for (const group of groups) memory.groups.set(group.id, group)

  const runs = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => {
    const parent = it.runs.length > 0 && random.chance(0.2) ? random.pick(it.runs) : null
    return drawRun(it, parent)
  })
  if (random.chance(0.1)) runs.push(...sampleOf(random, [...it.runs.values()], 1).flatMap(madeAs(it)))
  return { groups, runs }
}

function madeAs({ memory }: Draw): (run: Run) => NewRun[] {
  return ({ id }) => [memory.runs.get(id) ?? []].flat()
}

/** What a settlement brings along: groups of its handler, or the move of a run of which no other one in this call speaks. */
export function drawMoved(it: Draw, others: readonly Settlement[]): Pick<Settlement, 'groups' | 'move'> {
  const { random, memory } = it
  if (random.chance(0.4)) {
    const groups = drawGroups(it, null, drawSpace(random))
    for (const group of groups) memory.groups.set(group.id, group)
    return { groups }
  }
  const free = it.runs.filter(({ id }) => !others.some(({ move }) => move?.id === id))
  return free.length === 0 ? {} : { move: drawMove(it, random.pick(free)) }
}

function drawGroups(it: Draw, run: string | null, space: string): NewGroup[] {
  const { random, memory } = it
  const groups = Array.from({ length: random.pick([0, 1, 1, 2]) }, () => drawGroup(it, run, space))
  // A few are spoken of before they are made.
  if (groups.length > 0 && run === null && random.chance(0.3)) memory.planned.push(...groups.splice(0, 1))
  return groups
}

function drawGroup(it: Draw, run: string | null, space: string): NewGroup {
  const { random, memory, number } = it
  const canGrow = run === null && random.chance(0.2)
  const size = canGrow ? OPEN : random.pick([0, 1, 1, 2, 2, 3, 4, 6])
  const jobs = Object.fromEntries(
    GROUP_EVENTS.filter(() => random.chance(0.6)).map((event) => [event, drawPutDown(it, space)]),
  )
  const group: NewGroup = {
    id: groupOf(number()),
    space,
    run,
    size,
    need: canGrow
      ? random.pick([NEEDS_ALL, NEEDS_ALL, 0])
      : random.pick([size, size, size, 0, 1, random.int(0, size), size + 1]),
    failing: canGrow ? 'end' : random.pick(['first', 'hopeless', 'end'] as const),
    jobs,
    keepMs: random.pick([0, 1_000, 3_600_000, 3_600_000]),
  }
  memory.slots.push(...Array.from({ length: canGrow ? 0 : size }, (_, n) => ({ group: group.id, n, space })))
  return group
}

/**
 * A job that a group enqueues, perhaps itself a member. Which of two that are enqueued at once gets a key is left open, so
 * no two ask for the same.
 */
function drawPutDown(it: Draw, space: string): NewJob {
  const { random, memory } = it
  const job = drawJob(it, space)
  const unique = job.unique && drawUnique(random)
  const key = JSON.stringify([job.space, job.queue, unique?.key])
  if (unique === null || memory.taken.has(key)) return { ...job, unique: null }
  memory.taken.add(key)
  return { ...job, unique }
}

/** A run; below another one it is a member, if there is a number free. */
function drawRun(it: Draw, parent: Run | null): NewRun {
  const { random, memory, number } = it
  const id = runOf(number())
  const slot = parent && takeSlot(it, { space: parent.space })
  const run: NewRun = {
    id,
    space: slot?.space ?? drawSpace(random),
    flow: random.pick(FLOWS),
    version: random.int(1, 2),
    position: random.pick(['[0]', '{}']),
    state: random.pick(['{"user": 62}', '"é"']),
    attributes: ATTRIBUTES.filter(() => random.chance(0.4)),
    member: slot && { group: slot.group, n: slot.n },
    root: slot && parent ? parent.root : id,
  }
  memory.runs.set(id, run)
  return run
}

const FLOWS = ['access', 'access:branch', 'join'] as const
const ATTRIBUTES = ['userId:62', 'userId:6', 'tag:é'] as const

/** Some moves: of different runs, of one run in a row, or of a run that the move before it makes. */
function drawMoves(it: Draw): RunMove[] {
  const { random } = it
  const moves: RunMove[] = []
  for (const run of sampleOf(random, it.runs, 3)) {
    const move = drawMove(it, run)
    moves.push(move)
    if (random.chance(0.2)) moves.push(drawMove(it, { ...run, revision: move.revision + 1 }))
    const [child] = move.runs
    if (child && random.chance(0.3)) moves.push(drawMove(it, { ...child, revision: 0 }))
  }
  const gone = [...it.memory.runs.values()].filter(({ id }) => !it.runs.some((run) => run.id === id))
  if (gone.length > 0 && random.chance(0.1)) moves.push(drawMove(it, { ...random.pick(gone), revision: 0 }))
  return moves
}

function drawMove(it: Draw, run: NewRun & Pick<Run, 'revision'>): RunMove {
  const { random, memory } = it
  const status = random.chance(0.4) ? undefined : random.pick([...RUN_STATUSES, 'running', 'done'] as const)
  const isOver = status !== undefined && status !== 'running'
  const groups = random.chance(0.3) ? drawGroups(it, run.id, run.space) : []
  for (const group of groups) memory.groups.set(group.id, group)
  const count = groups.length === 0 ? random.pick([0, 0, 1]) : random.int(0, 3)
  const parent = it.runs.find(({ id }) => id === run.id) ?? null
  return {
    id: run.id,
    space: random.chance(0.95) ? run.space : drawSpace(random),
    revision: random.chance(0.8) ? run.revision : Math.max(0, run.revision + random.pick([-1, 1])),
    ...(random.chance(0.5) ? { position: random.pick(['[1]', '[2, 0]']) } : {}),
    ...(random.chance(0.5) ? { state: random.pick(['{"a":1}', '"ü"']) } : {}),
    ...(status === undefined ? {} : { status }),
    ...(isOver && random.chance(0.9) ? { keepMs: random.pick([0, 1_000, 3_600_000]) } : {}),
    ...(status === 'done' ? { result: random.pick([null, '1.0']) } : {}),
    ...(status === 'failed' ? { failure: '{"kind":"error","message":"boom"}' } : {}),
    groups,
    runs: parent === null ? [] : Array.from({ length: count }, () => drawRun(it, parent)),
    jobs: Array.from({ length: count }, () => drawJob(it, run.space)),
  }
}

function drawFilter({ random, memory }: Draw): Omit<Extract<Step, { do: 'runs' }>, 'do'> {
  const like = random.pick([...memory.runs.values()])
  return {
    space: like.space,
    ...(random.chance(0.3) ? { flow: random.pick(FLOWS) } : {}),
    ...(random.chance(0.3) ? { status: random.pick(RUN_STATUSES) } : {}),
    ...(random.chance(0.3) ? { attribute: random.pick(ATTRIBUTES) } : {}),
    ...(random.chance(0.3) ? { root: like.root } : {}),
    ...(random.chance(0.5) ? { branches: true } : {}),
    limit: random.pick([1, 2, 100]),
  }
}
