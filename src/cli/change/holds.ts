import type { Duration, Holdable, HoldOptions, HoldSummary, HoldView, ReleaseSummary } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import type { Counterpart } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { fromNow, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { BY_FLAG, personOf } from './actor.ts'
import { confirm } from './confirm.ts'
import { onlySays } from './dry-run.ts'

export const HOLD_FLAGS: Flags = {
  lane: { kind: 'text', value: 'key', help: 'Only this lane of the queue' },
  'default-lane': { kind: 'switch', help: 'Only its jobs without a lane' },
  all: { kind: 'switch', help: 'The whole space' },
  everywhere: { kind: 'switch', help: 'Every space; with a name: that queue in every space' },
  reason: { kind: 'text', value: 'text', help: 'Why, for whoever looks' },
  by: BY_FLAG,
  for: { kind: 'text', value: '1h', help: 'It ends by itself after this long' },
  wait: {
    kind: 'optional',
    value: '30s',
    help: 'Answer when all workers have handed back what they had not started',
  },
}

export type HoldAction = 'pause' | 'resume' | 'block' | 'unblock'

const DONE = { pause: 'Paused', resume: 'Resumed', block: 'Blocked', unblock: 'Unblocked' } as const

/** Puts holds or takes them away, and says what stands then. */
export async function changeHolds(call: Call, action: HoldAction, names: readonly string[]): Promise<number> {
  const { args, out } = call
  const puts = action === 'pause' || action === 'block'
  for (const flag of ['reason', 'for', 'wait']) {
    if (!puts && args.typed(flag)) throw usage(`--${flag} is for pause and block.`)
  }
  const targets = targetsOf(args, action, names)
  const options = { ...holdOptions(args, puts), ...(puts ? waitOptions(args) : {}) }
  return reaching(call, { create: false }, async ({ skep }) => {
    const texts = targets.map((target) => targetText(target, args, skep))
    if (onlySays(call, `${action} ${clean(texts.join(', '))}`, { action, targets: texts })) return EXIT.ok
    if (puts && names.length === 0) await confirm(call, `${title(action)} ${targetText({}, args, skep)}?`)
    // Before: a hold on a lane may make its queue known.
    const unknown = puts && !out.json ? await unknownOf(skep, names) : []
    const answers: { target: string; summary: HoldSummary | ReleaseSummary }[] = []
    for (const target of targets) {
      const summary = await skep.queues[action](target, options)
      answers.push({ target: targetText(target, args, skep), summary })
    }
    if (out.json) {
      out.object({ action, targets: answers.map(({ target, summary }) => ({ target, ...summary })) })
      return EXIT.ok
    }
    for (const { target, summary } of answers) out.data(line(action, target, summary))
    for (const name of unknown) {
      out.note(out.paintNote('dim', `There is no queue ${quote(name)} yet; the hold waits for it.`))
    }
    return EXIT.ok
  })
}

/** Pauses a queue and waits until nothing of it runs. */
export async function drainQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args, out } = call
  const [name, ...more] = names
  if (name === undefined || more.length > 0)
    throw usage('Which queue? One at a time.', 'skep queues drain <name>')
  for (const flag of ['lane', 'default-lane', 'all', 'everywhere', 'for', 'wait']) {
    if (args.typed(flag)) throw usage(`--${flag} does not go with drain: it takes one whole queue.`)
  }
  const timeout = args.duration('timeout')
  return reaching(call, { create: false }, async ({ skep }) => {
    if (args.on('dry-run')) {
      const [queue] = await skep.queues.list([name])
      const running = queue?.running ?? 0
      const would = `pause ${clean(name)} and wait for ${many(running, 'job')} that ${running === 1 ? 'runs' : 'run'}`
      onlySays(call, would, { action: 'drain', queue: name, running })
      return EXIT.ok
    }
    const drained = skep.queues.drain(name, {
      ...holdOptions(args, true),
      ...(timeout === undefined ? {} : { timeout }),
    })
    const summary = await new Progress(out, `Waiting for the jobs of ${clean(name)} that run,`).during(
      drained,
    )
    if (out.json) out.object({ action: 'drain', queue: name, ...summary })
    else {
      const { ended, ready, delayed } = summary
      out.data(`Drained ${clean(name)}: ${many(ended, 'job')} ended, ${ready} ready, ${delayed} delayed.`)
      out.note(out.paintNote('dim', `It stays paused until: skep queues resume ${clean(name)}`))
    }
    return EXIT.ok
  })
}

function targetsOf(args: Arguments, action: HoldAction, names: readonly string[]): Holdable[] {
  // Not from the environment: a variable that is left over must not hold everything.
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
  if (names.length > 0) return names.map((queue) => (everywhere ? { queue, everywhere } : queue))
  if (everywhere) return [{ everywhere }]
  if (args.typed('all')) return [{}]
  throw usage(
    `${title(action)} what?`,
    `Name queues or patterns (skep queues ${action} 'mail.*'), or use --all for the whole space.`,
  )
}

/** The lane that is meant, if one is. */
export function laneOf(args: Arguments): string | undefined {
  if (!args.typed('default-lane')) return args.text('lane')
  if (args.typed('lane')) throw usage('--lane and --default-lane do not go together.')
  return ''
}

function holdOptions(args: Arguments, puts: boolean): HoldOptions {
  const reason = puts ? args.text('reason') : undefined
  const time = puts ? args.duration('for') : undefined
  const by = personOf(args)
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
    ...(time === undefined ? {} : { for: time }),
  }
}

function waitOptions(args: Arguments): HoldOptions {
  const wait = args.text('wait')
  if (wait === undefined) return {}
  return wait === '' ? { wait: true } : { wait: true, timeout: args.duration('wait') as Duration }
}

function targetText(target: Holdable, args: Arguments, skep: Counterpart): string {
  const where = args.typed('everywhere') ? 'every space' : `space ${skep.space}`
  if (typeof target === 'string') return target
  const { queue, lane } = target as { readonly queue?: string; readonly lane?: string }
  if (queue === undefined) return where
  if (lane !== undefined) return `${laneText(lane)} of ${queue}`
  return `${queue} in ${where}`
}

function line(action: HoldAction, target: string, summary: HoldSummary | ReleaseSummary): string {
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
export function holdText(hold: HoldView, now: number): string {
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

/** Names of queues that have no jobs: a misspelt name holds nothing, and nobody would notice. */
async function unknownOf(skep: Counterpart, names: readonly string[]): Promise<string[]> {
  const exact = names.filter((name) => !name.includes('*'))
  if (exact.length === 0) return []
  const known = await skep.queues.list()
  return exact.filter((name) => !known.some(({ queue }) => queue === name))
}

function title(action: string): string {
  return action.charAt(0).toUpperCase() + action.slice(1)
}
