import { type Duration, SkepError } from '../../index.ts'
import type { HoldTargetInput } from '../../operations/schema/inputs.ts'
import type { WireHold } from '../../operations/schema/outputs.ts'
import type { InputOf, OutputOf } from '../../operations/table.ts'
import { type Arguments, durationMs, given } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { fromNow, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { BY_FLAG } from './actor.ts'
import { confirm } from './confirm.ts'
import { onlySays } from './dry-run.ts'

export const HOLD_FLAGS: Flags = {
  lane: { kind: 'text', value: 'key', help: 'Only this lane of the queue' },
  'default-lane': { kind: 'switch', help: 'Only jobs without a lane' },
  all: { kind: 'switch', help: 'The whole space' },
  everywhere: { kind: 'switch', help: 'Every space; with a name: that queue in every space' },
  reason: { kind: 'text', value: 'text', help: 'The reason, shown to operators' },
  by: BY_FLAG,
  for: { kind: 'text', value: '1h', help: 'Expires after this duration' },
  wait: {
    kind: 'optional',
    value: '30s',
    help: 'Wait until all workers have returned prefetched jobs',
  },
}

export type HoldAction = 'pause' | 'resume' | 'block' | 'unblock'

const DONE = { pause: 'Paused', resume: 'Resumed', block: 'Blocked', unblock: 'Unblocked' } as const

/** Adds or removes holds, and prints the holds that remain. */
export async function changeHolds(call: Call, action: HoldAction, names: readonly string[]): Promise<number> {
  const { args, out } = call
  const puts = action === 'pause' || action === 'block'
  for (const flag of ['reason', 'for', 'wait']) {
    if (!puts && args.typed(flag)) throw usage(`--${flag} is for pause and block.`)
  }
  const targets = targetsOf(args, action, names)
  const options = puts ? { ...holdOptions(args), ...waitOptions(args) } : {}
  return reaching(call, { create: false }, async ({ backend }) => {
    const texts = targets.map((target) => targetText(target, backend))
    if (onlySays(call, `${action} ${clean(texts.join(', '))}`, { action, targets: texts })) return EXIT.ok
    if (puts && names.length === 0)
      await confirm(call, `${title(action)} ${targetText(targets[0] ?? {}, backend)}?`)
    // First: a hold on a lane may create its queue.
    const unknown = puts && !out.json ? await unknownOf(backend, names) : []
    const answers: { target: string; summary: Summary }[] = []
    for (const target of targets) {
      const summary: Summary = await backend.call(`holds.${action}`, { ...target, ...options })
      answers.push({ target: targetText(target, backend), summary })
    }
    if (out.json) {
      out.object({ action, targets: answers.map(({ target, summary }) => ({ target, ...summary })) })
      return EXIT.ok
    }
    for (const { target, summary } of answers) out.data(line(action, target, summary))
    for (const name of unknown) {
      out.note(out.paintNote('dim', `There is no queue ${quote(name)} yet; the hold applies once it exists.`))
    }
    return EXIT.ok
  })
}

type Summary = OutputOf<'holds.pause'> | OutputOf<'holds.resume'>

/** Pauses a queue and waits until none of its jobs is running. */
export async function drainQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args, out } = call
  const [name, ...more] = names
  if (name === undefined || more.length > 0)
    throw usage('Which queue? One at a time.', 'skep queues drain <name>')
  for (const flag of ['lane', 'default-lane', 'all', 'everywhere', 'for', 'wait']) {
    if (args.typed(flag)) throw usage(`--${flag} does not go with drain: it takes one whole queue.`)
  }
  const timeout = args.duration('timeout')
  return reaching(call, { create: false }, async ({ backend }) => {
    if (args.on('dry-run')) {
      const { running } = await countsOf(backend, name)
      const would = `pause ${clean(name)} and wait for ${many(running, 'job')} that ${running === 1 ? 'is' : 'are'} running`
      onlySays(call, would, { action: 'drain', queue: name, running })
      return EXIT.ok
    }
    const drained = drain(backend, { ...holdOptions(args), queue: name }, timeout)
    const summary = await new Progress(out, `Waiting for the running jobs of ${clean(name)},`).during(drained)
    if (out.json) out.object({ action: 'drain', queue: name, ...summary })
    else {
      const { ended, ready, delayed } = summary
      out.data(`Drained ${clean(name)}: ${many(ended, 'job')} ended, ${ready} ready, ${delayed} delayed.`)
      out.note(out.paintNote('dim', `It stays paused until: skep queues resume ${clean(name)}`))
    }
    return EXIT.ok
  })
}

const POLL_MS = 200

interface Drained {
  /** Jobs that were running after the pause and have ended. */
  readonly ended: number
  readonly ready: number
  readonly delayed: number
  readonly holds: readonly WireHold[]
}

async function drain(
  backend: Backend,
  input: InputOf<'holds.pause'> & { readonly queue: string },
  timeout: Duration | undefined,
): Promise<Drained> {
  const { queue } = input
  const giveUpAt = timeout === undefined ? Infinity : Date.now() + durationMs(timeout)
  const { holds } = await backend.call('holds.pause', input)
  let atFirst: number | undefined
  for (;;) {
    const { running, ready, delayed } = await countsOf(backend, queue)
    atFirst ??= running
    if (running === 0) return { ended: atFirst, ready, delayed, holds }
    const left = giveUpAt - Date.now()
    if (left <= 0) {
      const message = `${running} jobs of "${queue}" are still running. The queue stays paused.`
      throw new SkepError('DRAIN_TIMEOUT', message, { facts: { queue, running } })
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS, left)))
  }
}

async function countsOf(
  backend: Backend,
  queue: string,
): Promise<{ readonly running: number; readonly ready: number; readonly delayed: number }> {
  const { queues } = await backend.call('queues.list', { queues: [queue] })
  return queues[0]?.counts ?? { running: 0, ready: 0, delayed: 0 }
}

function targetsOf(args: Arguments, action: HoldAction, names: readonly string[]): HoldTargetInput[] {
  // Not from the environment: a forgotten variable must not hold everything.
  const everywhere = args.typed('everywhere')
  const lane = laneOf(args)
  if (names.length > 0 && args.typed('all')) throw usage('Names and --all do not go together.')
  if (lane !== undefined) {
    const [queue, ...more] = names
    if (queue === undefined || more.length > 0)
      throw usage('--lane needs one queue.', `skep queues ${action} <queue> --lane <key>`)
    if (everywhere) throw usage('A lane belongs to one space; leave out --everywhere.')
    return [{ queue, lane }]
  }
  if (names.length > 0) return names.map((queue) => (everywhere ? { queue, everywhere } : { queue }))
  if (everywhere) return [{ everywhere }]
  if (args.typed('all')) return [{}]
  throw usage(
    `${title(action)} what?`,
    `Name queues or patterns (skep queues ${action} 'mail.*'), or use --all for the whole space.`,
  )
}

/** The lane of --lane or --default-lane. */
export function laneOf(args: Arguments): string | undefined {
  if (!args.typed('default-lane')) return args.text('lane')
  if (args.typed('lane')) throw usage('--lane and --default-lane do not go together.')
  return ''
}

function holdOptions(args: Arguments): Pick<InputOf<'holds.pause'>, 'reason' | 'for'> {
  return given({ reason: args.text('reason'), for: args.duration('for') as string | undefined })
}

function waitOptions(args: Arguments): Pick<InputOf<'holds.pause'>, 'wait' | 'timeout'> {
  const wait = args.text('wait')
  if (wait === undefined) return {}
  return wait === '' ? { wait: true } : { wait: true, timeout: args.duration('wait') as string }
}

function targetText({ queue, lane, everywhere }: HoldTargetInput, backend: Backend): string {
  const where = everywhere === true ? 'every space' : `space ${backend.space}`
  if (queue === undefined) return where
  if (lane !== undefined) return `${laneText(lane)} of ${queue}`
  return everywhere === true ? `${queue} in ${where}` : queue
}

function line(action: HoldAction, target: string, summary: Summary): string {
  const kind = action === 'pause' || action === 'resume' ? 'pause' : 'block'
  if (!('released' in summary)) {
    const others = summary.holds.length - 1
    return `${DONE[action]} ${clean(target)}.${others > 0 ? ` There are ${many(others, 'other hold')} on it.` : ''}`
  }
  const done = summary.released
    ? `${DONE[action]} ${clean(target)}.`
    : `There was no ${kind} on ${clean(target)}.`
  return [done, ...summary.holds.map((hold) => `Still held: ${holdText(hold, Date.now())}`)].join('\n')
}

/** A hold in one line. */
export function holdText(hold: WireHold, now: number): string {
  const { kind, space, queue, lane, by, reason, until } = hold
  const on = queue === null ? (space === null ? 'every space' : `space ${space}`) : queue
  const parts = [
    `${kind} on ${on}${lane === null ? '' : `, ${laneText(lane)}`}`,
    ...(by === null ? [] : [`by ${by}`]),
    fromNow(hold.since, now),
    ...(until === null ? [] : [`ends ${fromNow(until, now)}`]),
  ]
  return clean(`${parts.join(', ')}${reason === null ? '' : `: ${reason}`}`)
}

export function laneText(lane: string): string {
  return lane === '' ? 'the default lane' : `lane ${quote(lane)}`
}

/** Names of queues without jobs: a misspelt name would hold nothing without a notice. */
async function unknownOf(backend: Backend, names: readonly string[]): Promise<string[]> {
  const exact = names.filter((name) => !name.includes('*'))
  if (exact.length === 0) return []
  const { queues: known } = await backend.call('queues.list', {})
  return exact.filter((name) => !known.some(({ queue }) => queue === name))
}

function title(action: string): string {
  return action.charAt(0).toUpperCase() + action.slice(1)
}
