import { LIMITS } from '../../index.ts'
import type { WireRun } from '../../operations/schema/outputs.ts'
import { given } from '../arguments.ts'
import type { Call } from '../command.ts'
import { readPayload } from '../commands/jobs/enqueue.ts'
import { type Backend, callOrNull } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { CliError, EXIT, notFound, usage } from '../exit.ts'
import { many } from '../format/numbers.ts'
import { clean, quote } from '../format/text.ts'
import { suggest } from '../suggest.ts'

type Action = 'cancel' | 'retry'

const DONE: Readonly<Record<Action, string>> = { cancel: 'Cancelled', retry: 'Retried' }

/** Why a run was not changed. */
const REASONS = {
  unknown: 'there is no such run in this space',
  ended: 'it has ended',
  running: 'it is running',
} as const

/** Cancels or retries runs by id, and reports the result. */
export async function changeRuns(call: Call, action: Action, words: readonly string[]): Promise<number> {
  const { args, out } = call
  const ids = [...new Set(words)]
  if (ids.length === 0) throw usage('Which run?', `skep flows ${action} <run…>`)
  const from = args.text('from')
  const reason = args.text('reason')
  return reaching(call, { create: false }, async ({ backend }) => {
    const changed: string[] = []
    const refused: { readonly id: string; readonly reason: keyof typeof REASONS }[] = []
    for (const id of ids) {
      const run = await runOf(backend, id)
      const why = refusalOf(run, action)
      if (run === null || why !== null) {
        refused.push({ id, reason: why ?? 'unknown' })
        continue
      }
      if (from !== undefined) assertStep(run, from)
      const isDone = args.on('dry-run') || (await change(backend, action, id, from, reason))
      // It may have ended or restarted in the meantime.
      if (isDone) changed.push(id)
      else refused.push({ id, reason: action === 'cancel' ? 'ended' : 'running' })
    }
    if (out.json) out.object({ action, dryRun: args.on('dry-run'), changed, refused })
    else {
      const runs = many(changed.length, 'run')
      out.data(args.on('dry-run') ? `Would ${action} ${runs}.` : `${DONE[action]} ${runs}.`)
      for (const { id, reason: why } of refused)
        out.complain(`${out.paintNote('red', 'refused')} ${clean(id)}: ${REASONS[why]}`)
    }
    if (refused.some(({ reason: why }) => why === 'unknown')) return EXIT.notFound
    return refused.length > 0 ? EXIT.conflict : EXIT.ok
  })
}

function refusalOf(run: WireRun | null, action: Action): keyof typeof REASONS | null {
  if (run === null) return 'unknown'
  if (action === 'cancel') return run.status === 'running' ? null : 'ended'
  return run.status === 'running' ? 'running' : null
}

async function change(
  backend: Backend,
  action: Action,
  id: string,
  from: string | undefined,
  reason: string | undefined,
): Promise<boolean> {
  const { changed } =
    action === 'cancel'
      ? await backend.call('runs.cancel', { id, ...given({ reason }) })
      : await backend.call('runs.retry', { id, ...given({ from }) })
  return changed
}

export async function runOf(backend: Backend, id: string): Promise<WireRun | null> {
  return (await callOrNull(backend, 'runs.get', { id }))?.run ?? null
}

function assertStep({ flow, position: { steps } }: WireRun, from: string): void {
  const names = steps.map(({ name }) => name)
  if (names.length === 0 || names.includes(from)) return
  const near = suggest(from, names)
  throw usage(
    `Flow ${quote(flow)} has no step ${quote(from)}.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    `It has: ${names.map(clean).join(', ')}`,
  )
}

/** Sends a signal to a run. */
export async function signalRun(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  const [id, name, ...rest] = words
  if (id === undefined || name === undefined || rest.length > 0)
    throw usage('Which run, and which signal?', 'skep flows signal <run> <name> [-d <json>]')
  const value = await readPayload(call)
  return reaching(call, { create: false }, async ({ backend }) => {
    const run = await runOf(backend, id)
    if (run === null) throw notFound(`There is no run ${quote(id)} in this space.`)
    await assertSignal(backend, run, name)
    if (run.status !== 'running')
      throw new CliError('RUN_ENDED', `Run ${quote(id)} is ${run.status} and takes no signal.`, {
        exitCode: EXIT.conflict,
      })
    const isTold =
      args.on('dry-run') || (await backend.call('runs.signal', { id, name, value: value ?? null })).changed
    if (out.json) out.object({ id, signal: name, dryRun: args.on('dry-run'), told: isTold })
    else out.data(`${args.on('dry-run') ? 'Would signal' : 'Signalled'} ${id} ${clean(name)}.`)
    return isTold ? EXIT.ok : EXIT.conflict
  })
}

/** A branch is a run of its own and receives its own signals. */
async function assertSignal(backend: Backend, run: WireRun, name: string): Promise<void> {
  const names = signalsOf(run)
  if (run.position.steps.length === 0 || names.includes(name)) return
  const { runs } = await backend.call('runs.list', { root: run.id, limit: LIMITS.pageJobs })
  const branch = runs.find((one) => one.status === 'running' && signalsOf(one).includes(name))
  if (branch !== undefined && branch.id !== run.id)
    throw usage(
      `Not this run but its branch ${quote(branch.flow)} has the signal ${quote(name)}.`,
      `skep flows signal ${branch.id} ${clean(name)}`,
    )
  const near = suggest(name, names)
  throw usage(
    `Flow ${quote(run.flow)} has no signal ${quote(name)}.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    ...(names.length === 0 ? [] : [`It has: ${names.map(clean).join(', ')}`]),
  )
}

function signalsOf({ position: { steps } }: WireRun): string[] {
  return steps.filter(({ kind }) => kind === 'signal').map(({ name }) => name)
}
