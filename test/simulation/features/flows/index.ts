import { StoreError } from '../../../../src/core/errors.ts'
import type { Run } from '../../../../src/core/flows/runs.ts'
import { readPosition } from '../../../../src/flows/position.ts'
import { signalGroup } from '../../../../src/flows/signals.ts'
import type { Flow, RunHandle } from '../../../../src/index.ts'
import type { FlowShape, State } from '../../../proof/flows/shape.ts'
import { namesIn, signalsIn } from '../../../proof/flows/walk.ts'
import type { App } from '../../app.ts'
import type { Trial } from '../../trial.ts'
import { bulkActions, startBulk } from '../bulk.ts'
import type { Action, Feature } from '../index.ts'
import { build } from './build.ts'
import { Draw } from './draw.ts'
import { enqueueGroup } from './groups.ts'
import { sealAll, useOpenGroup } from './open-groups.ts'
import { SIMULATED } from './queues.ts'

/** The flows of a trial: some of random shape, and of one of them two versions. */
interface Drawn {
  readonly shapes: readonly FlowShape[]
  readonly flows: readonly Flow<State, State>[]
  /** Programs that lack a version of a flow. */
  readonly lacking: WeakSet<App>
}

const drawn = new WeakMap<Trial, Drawn>()

function flowsOf(trial: Trial): Drawn {
  const known = drawn.get(trial)
  if (known) return known
  const draw = new Draw(trial.random)
  const names = Array.from({ length: trial.random.int(2, 5) }, (_, n) => `f${n}`)
  const shapes = [...names.map((name) => draw.flow(name, 1)), draw.flow('f0', 2)]
  const fresh = { shapes, flows: shapes.map(build), lacking: new WeakSet<App>() }
  drawn.set(trial, fresh)
  return fresh
}

/** A handle on a run through a program that is up. */
function handleOf(app: App, { id }: Run): RunHandle {
  return app.skep.runs.run(id)
}

function start(trial: Trial): void {
  const { random } = trial
  for (let count = random.int(1, 3); count > 0; count--) {
    const app = random.pick(trial.up)
    const { flows } = flowsOf(trial)
    const chosen = random.pick(flows)
    const n = random.int(0, 1_000_000)
    const id = random.chance(0.4) ? app.process.runtime.uuid() : undefined
    const options = { attributes: { n }, ...(id !== undefined && { id }) }
    const begin = async (): Promise<void> => {
      try {
        const run = await app.skep.start(chosen, { n }, options)
        if (!trial.witness.latest.some((one) => one.id === run.id)) vanished(trial, run.id)
        // Some do not believe it.
        if (id !== undefined && random.chance(0.3)) await app.skep.start(chosen, { n }, options)
        if (random.chance(0.3)) await awaitResult(trial, run)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        if (id !== undefined && error.effect === 'unknown') await app.skep.start(chosen, { n }, options)
      }
    }
    app.track(begin())
  }
}

function vanished(trial: Trial, run: string): void {
  const message = 'Its start was acknowledged, but it is not there.'
  trial.violate({ invariant: 'I-1', kind: 'lost', about: run, message })
}

async function awaitResult(trial: Trial, run: RunHandle): Promise<void> {
  const value = await run.result({ timeout: '10m' })
  trial.witness.results.push({ run: run.id, value: JSON.stringify(value) })
}

/** Something that people do to runs they know of, the latest most of the time. */
function toRuns(
  name: string,
  weight: number,
  isMeant: (run: Run, trial: Trial) => boolean,
  act: (trial: Trial, app: App, run: Run) => Promise<unknown>,
): Action {
  return {
    name,
    weight,
    run: (trial) => {
      const { random } = trial
      for (let count = random.int(1, 3); count > 0; count--) {
        // Some come too late.
        const runs = trial.witness.latest.filter((run) => isMeant(run, trial) || random.chance(0.1))
        if (runs.length === 0) return
        const app = random.pick(trial.up)
        app.track(act(trial, app, random.pick(random.chance(0.7) ? runs.slice(-10) : runs)))
      }
    },
  }
}

const isRunning = ({ status }: Run): boolean => status === 'running'
const hasEnded = (run: Run): boolean => !isRunning(run)
const isUndone = (run: Run): boolean => hasEnded(run) && readPosition(run.position).failure !== null

function shapeOf(trial: Trial, { flow, version }: Run): FlowShape | undefined {
  return flowsOf(trial).shapes.find((shape) => shape.name === flow && shape.version === version)
}

function signalsOf(trial: Trial, run: Run): string[] {
  const waited = Object.keys(readPosition(run.position).signals)
  return [...waited, ...signalsIn(shapeOf(trial, run)?.parts ?? [])]
}

const mayWaitForSignal = (run: Run, trial: Trial): boolean =>
  isRunning(run) && signalsOf(trial, run).length > 0

async function signal(trial: Trial, app: App, run: Run): Promise<unknown> {
  const names = signalsOf(trial, run)
  if (names.length === 0) return null
  return handleOf(app, run).signal(trial.random.pick(names), trial.random.int(1, 1_000_000))
}

async function retryRun(trial: Trial, app: App, run: Run): Promise<unknown> {
  const names = namesIn(shapeOf(trial, run)?.parts ?? [])
  const isFromStep = names.length > 0 && trial.random.chance(0.5)
  return handleOf(app, run).retry(isFromStep ? { from: trial.random.pick(names) } : {})
}

/** What people do to a member. */
function commandMember(trial: Trial): void {
  const { random, witness } = trial
  const { jobs } = witness
  if (jobs.length === 0) return
  const app = random.pick(trial.up)
  const id = random.pick(random.chance(0.7) ? jobs.slice(-15) : jobs)
  app.track(app.skep.jobs[random.pick(['cancel', 'bury', 'retry', 'retry', 'retry', 'remove'] as const)](id))
}

function retryAll(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const state = random.pick(['dead', 'failed', 'cancelled'] as const)
  app.track(app.skep.jobs.retry({ queue: random.pick(['frail', 'part', 'swift']), state }))
}

/** The same as a bulk action, which a worker takes up. */
function retryInBulk(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const queue = random.pick(['frail', 'part', 'swift'])
  app.track(startBulk(trial, app, queue, random.pick(['dead', 'dead', 'failed', 'cancelled'])))
}

/** The signals that runs wait for. */
function awaitedSignals(
  trial: Trial,
): { readonly run: Run; readonly name: string; readonly group: string }[] {
  return trial.witness.latest.flatMap((run) => {
    const { signals, waits } = readPosition(run.position)
    if (run.status !== 'running') return []
    return Object.entries(signals)
      .filter(([name, nth]) => waits?.id === signalGroup(run.id, name, nth - 1))
      .map(([name, nth]) => ({ run, name, group: signalGroup(run.id, name, nth - 1) }))
  })
}

/** The groups that were told of in the end, and the jobs that were retried: once each. */
const mended = new WeakMap<Trial, Set<string>>()

function entryOf(map: WeakMap<Trial, Set<string>>, trial: Trial): Set<string> {
  const known = map.get(trial) ?? new Set<string>()
  map.set(trial, known)
  return known
}

/** The dead members for which failed runs still wait: half of the runs get theirs retried, once. */
function deadMembers(trial: Trial): string[] {
  const known = entryOf(mended, trial)
  let final: ReturnType<Trial['model']['final']> | null = null
  return trial.witness.latest.flatMap((run) => {
    const { waits, failure } = readPosition(run.position)
    if (run.status !== 'failed' || failure !== null || !waits || run.root.charCodeAt(35) % 2) return []
    const members = Array.from({ length: waits.size }, (_, n) => trial.witness.member(waits.id, n))
    return members.flatMap((member) => {
      if (!member || known.has(member.id)) return []
      final ??= trial.model.final()
      const state = final.get(member.id)?.state
      return state === 'dead' || state === 'failed' || state === 'cancelled' ? [member.id] : []
    })
  })
}

/** Runs that were undone: half of them are retried, once. */
function undoneRuns(trial: Trial): Run[] {
  const known = entryOf(mended, trial)
  return trial.witness.latest.filter(
    (run) =>
      run.status === 'failed' && isUndone(run) && run.id.charCodeAt(35) % 2 === 1 && !known.has(run.id),
  )
}

/** After the heal: programs that lack something are closed, signals are sent, and some failures are retried. */
function mend(trial: Trial): void {
  for (const app of trial.up) if (flowsOf(trial).lacking.has(app)) app.track(app.close())
  bulkActions.mend?.(trial)
  sealAll(trial)
  const app = trial.up.at(-1)
  if (!app || trial.model.unfinished() > 0) return
  const sent = entryOf(mended, trial)
  for (const { run, name, group } of awaitedSignals(trial)) {
    if (sent.has(group)) continue
    sent.add(group)
    app.track(handleOf(app, run).signal(name, 'at last'))
  }
  for (const id of deadMembers(trial)) {
    sent.add(id)
    app.track(app.skep.jobs.retry(id))
  }
  for (const run of undoneRuns(trial)) {
    sent.add(run.id)
    app.track(handleOf(app, run).retry())
  }
}

export const flows: Feature = {
  name: 'flows',
  queues: SIMULATED,
  flows: (trial, app) => {
    const { flows: all, lacking } = flowsOf(trial)
    if (trial.isHealed || trial.random.chance(0.8)) return all
    lacking.add(app)
    const without = trial.random.int(0, all.length - 1)
    return all.filter((_, n) => n !== without)
  },
  shapes: (trial) => flowsOf(trial).shapes,
  actions: [
    { name: 'start runs', weight: 40, run: start },
    { name: 'enqueue a group', weight: 8, run: enqueueGroup },
    { name: 'use an open group', weight: 8, run: useOpenGroup },
    toRuns('signal runs', 14, mayWaitForSignal, signal),
    toRuns('cancel runs', 3, isRunning, (_trial, app, run) =>
      handleOf(app, run).cancel('The simulator says so.'),
    ),
    toRuns('retry runs', 8, hasEnded, retryRun),
    toRuns('retry runs that were undone', 6, isUndone, retryRun),
    { name: 'change a member', weight: 8, run: commandMember },
    { name: 'retry all members of a queue', weight: 2, run: retryAll },
    { name: 'retry all members of a queue in bulk', weight: 2, run: retryInBulk },
  ],
  isOwed: (trial) =>
    bulkActions.isOwed?.(trial) === true ||
    awaitedSignals(trial).length > 0 ||
    deadMembers(trial).length > 0 ||
    undoneRuns(trial).length > 0 ||
    trial.witness.open.length > 0,
  mend,
}
