import type {
  Duration,
  LaneLimitOptions,
  LimitsSaid,
  QueueLimitOptions,
  RateOptions,
  RateView,
} from '../../index.ts'
import type { WireLimit } from '../../operations/schema/outputs.ts'
import { toWire, type Wire } from '../../operations/schema/serialize.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { table } from '../format/table.ts'
import { clean, quote } from '../format/text.ts'
import { onlySays } from './dry-run.ts'
import { laneOf, laneText } from './holds.ts'

/** `--lane` is with the flags of holds. */
export const LIMIT_FLAGS: Flags = {
  concurrency: {
    kind: 'text',
    value: 'n|none',
    help: 'Jobs that run concurrently, on all machines together',
  },
  rate: { kind: 'text', value: '100/1s|none', help: 'Rate limit (jobs per period)' },
  burst: { kind: 'text', value: 'n', help: 'Burst; goes with --rate' },
  weight: { kind: 'text', value: 'n', help: 'The share of the lane: 1 to 1000' },
  'lanes-concurrency': { kind: 'text', value: 'n|none', help: 'The same for each lane of the queue' },
  'lanes-rate': { kind: 'text', value: '10/1s|none', help: 'The same for each lane of the queue' },
  shared: {
    kind: 'text',
    value: 'name|none',
    help: 'Shared limit to join, or to edit',
  },
  reset: { kind: 'switch', help: 'Discard changes and use the limits declared in code' },
}

const SETTING = Object.keys(LIMIT_FLAGS)

/** Shows, changes or resets limits. */
export async function limitsCommand(call: Call, names: readonly string[]): Promise<number> {
  const { args, out } = call
  const [queue, ...more] = names
  if (more.length > 0) throw usage('One queue at a time.', 'skep queues limits <name> --concurrency 5')
  const target = targetOf(args, queue)
  const typed = SETTING.filter((name) => args.typed(name) && !(name === 'shared' && queue === undefined))
  if (typed.length === 0) return listLimits(call, queue)
  if (target === undefined)
    throw usage(`--${typed[0]} of what?`, 'Name a queue, or a shared limit with --shared <name>.')
  if (args.typed('reset') && typed.length > 1)
    throw usage(`--reset and --${typed.find((name) => name !== 'reset')} do not go together.`)
  const limits = args.typed('reset') ? null : readLimits(args, queue)
  return reaching(call, { create: false }, async (reached) => {
    const what = typeof target === 'string' ? target : Object.values(target).join(', ')
    const would = `${limits === null ? 'reset' : 'change'} the limits of ${clean(what)}`
    if (onlySays(call, would, { target, limits })) return EXIT.ok
    const view = await setLimits(reached, target, limits)
    if (out.json) out.object({ limit: view })
    else out.data(`${clean(targetText(view))}: ${limitsText(view.limits)}`)
    return EXIT.ok
  })
}

async function setLimits(
  { backend, opened }: Reached,
  target: LimitTarget,
  limits: QueueLimitOptions | null,
): Promise<WireLimit> {
  if (typeof target === 'object' && 'shared' in target) {
    if (opened === null) {
      throw usage('A shared limit belongs to no queue, so a server cannot change it.', 'Use --db.')
    }
    const { skep } = opened
    return toWire(limits === null ? await skep.limits.reset(target) : await skep.limits.set(target, limits))
  }
  const where = typeof target === 'string' ? { queue: target } : target
  return limits === null
    ? backend.call('queues.unlimit', where)
    : backend.call('queues.limit', { ...where, limits })
}

async function listLimits(call: Call, queue: string | undefined): Promise<number> {
  const { args, out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    const shared = queue === undefined ? args.text('shared') : undefined
    const lane = laneOf(args)
    const { limits: all } = await backend.call('limits.list', queue === undefined ? {} : { queue })
    const limits = all.filter(
      ({ target }) =>
        (shared === undefined || ('shared' in target && target.shared === shared)) &&
        (lane === undefined || ('queue' in target && target.lane === lane)),
    )
    if (out.json) out.object({ space: backend.space, limits })
    else if (limits.length === 0) out.note('No limits. Set one: skep queues limits <name> --concurrency 5')
    else {
      const rows = limits.map((view) => [
        clean(targetText(view)),
        limitsText(view.limits),
        view.changed === null ? '–' : view.declared === null ? 'nothing' : limitsText(view.declared),
      ])
      const columns = [{ title: 'WHAT', flexible: true }, { title: 'LIMITS' }, { title: 'CODE SAYS' }]
      out.data(table(columns, rows, { width: out.width, paint: out.paint }).join('\n'))
    }
    return EXIT.ok
  })
}

type LimitTarget = string | { readonly queue: string; readonly lane: string } | { readonly shared: string }

function targetOf(args: Arguments, queue: string | undefined): LimitTarget | undefined {
  const lane = laneOf(args)
  if (queue !== undefined) return lane === undefined ? queue : { queue, lane }
  if (lane !== undefined) throw usage('--lane needs a queue.', 'skep queues limits <queue> --lane <key>')
  const shared = args.text('shared')
  return shared === undefined ? undefined : { shared }
}

function readLimits(args: Arguments, queue: string | undefined): QueueLimitOptions & LaneLimitOptions {
  const concurrency = amount(args, 'concurrency')
  const each = amount(args, 'lanes-concurrency')
  const burst = args.whole('burst', { min: 1, max: 1_000_000_000 })
  const rate = readRate(args, 'rate', burst)
  const eachRate = readRate(args, 'lanes-rate', undefined)
  if (burst !== undefined && !rate) throw usage('--burst goes with --rate.', '--rate 100/1s --burst 20')
  const weight = args.whole('weight', { min: 1, max: 1_000 })
  const shared = queue === undefined ? undefined : args.text('shared')
  const lanes = {
    ...(each === undefined ? {} : { concurrency: each }),
    ...(eachRate === undefined ? {} : { rate: eachRate }),
    // For a queue it applies to each of its lanes.
    ...(weight === undefined || laneOf(args) !== undefined ? {} : { weight }),
  }
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(Object.keys(lanes).length === 0 ? {} : { lanes }),
    ...(shared === undefined ? {} : { shared: shared === 'none' ? null : shared }),
    ...(weight === undefined || laneOf(args) === undefined ? {} : { weight }),
  }
}

function amount(args: Arguments, name: string): number | null | undefined {
  return args.text(name) === 'none' ? null : args.whole(name, { min: 1, max: 1_000_000 })
}

function readRate(args: Arguments, name: string, burst: number | undefined): RateOptions | null | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  if (text === 'none') return null
  const [, limit, per] = /^(\d+)\/(\d+(?:\.\d+)?(?:ms|s|m|h|d|w))$/.exec(text) ?? []
  if (limit === undefined) throw usage(`--${name} is ${quote(text)}; use starts per time: 100/1s, 5/1m.`)
  return { limit: Number(limit), per: per as Duration, ...(burst === undefined ? {} : { burst }) }
}

export function targetText({ target }: WireLimit): string {
  if ('shared' in target) return `shared ${target.shared}`
  return target.lane === undefined ? target.queue : `${target.queue}, ${laneText(target.lane)}`
}

export function limitsText({ concurrency, rate, lanes, shared, weight, order }: Wire<LimitsSaid>): string {
  const each = lanes === undefined ? '' : limitsText(lanes)
  const parts = [
    ...(concurrency === undefined
      ? []
      : [concurrency === null ? 'any number at once' : `${concurrency} at once`]),
    ...(rate === undefined ? [] : [rate === null ? 'any rate' : rateText(rate)]),
    ...(weight === undefined ? [] : [`weight ${weight}`]),
    ...(order === undefined ? [] : ['strict order']),
    ...(each === '' ? [] : [`each lane: ${each}`]),
    ...(shared === undefined ? [] : [shared === null ? 'shares nothing' : `shares ${clean(shared)}`]),
  ]
  return parts.length === 0 ? 'no limits' : parts.join(', ')
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** As it can be typed. */
function rateText({ limit, per, burst }: RateView): string {
  const [unit, ms] = UNITS.find(([, size]) => per % size === 0) as (typeof UNITS)[number]
  return `${limit}/${per / ms}${unit} (burst ${burst})`
}
