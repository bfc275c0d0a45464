import type { Store } from '../store/store.ts'
import { type Command, jobsIn } from './oracle/commands.ts'
import { generateCommands } from './oracle/generate.ts'
import { type Mismatch, runCommands } from './oracle/run.ts'

export type { Command } from './oracle/commands.ts'
export { generateCommands } from './oracle/generate.ts'

export interface OracleOptions {
  /** Gives a fresh, empty store that is ready for use. The oracle closes it. */
  readonly open: () => Promise<Store> | Store
  /** Opens a second handle on the same jobs: then commands go through both in turn. */
  readonly reopen?: (store: Store) => Promise<Store>
  /** The same seed gives the same commands. */
  readonly seed: number
  /** @default 60 */
  readonly commands?: number
  /** Compare with the memory store, or check the invariants alone. @default true */
  readonly compare?: boolean
  /** Looks at what the store keeps, now and then and at the end of a history, and throws if something is wrong with it. */
  readonly audit?: (store: Store, now: number) => Promise<void>
  /** At most so many shorter histories are tried after a failure. @default 300 */
  readonly shrinkRuns?: number
  /** How to run this seed again, for the message. @default a call of `runOracle` */
  readonly replay?: string
}

/**
 * Sends random commands to a store and to the memory store in lockstep, in virtual time, and compares every
 * reply and every job after every command; the invariants are checked as well. Throws with the seed and the
 * shortest history found that still fails.
 */
export async function runOracle(options: OracleOptions): Promise<void> {
  const { seed, commands: length = 60, compare = true, shrinkRuns = 300 } = options
  const fails = (commands: readonly Command[]): Promise<Mismatch | null> =>
    attemptRun(options, commands, compare)

  const commands = await generateCommands(seed, length)
  const mismatch = await fails(commands)
  if (mismatch === null) return

  const shortest = await shrink(commands.slice(0, mismatch.step + 1), mismatch, fails, shrinkRuns)
  const replay = options.replay ?? `await runOracle({ open, seed: ${seed}, commands: ${length} })`
  throw new Error(
    [
      `Seed ${seed} fails at the last of these ${shortest.commands.length} commands:`,
      ...shortest.commands.map((command, n) => `  ${n + 1}. ${describeCommand(command)}`),
      shortest.mismatch.problem,
      `Jobs: ${jobsIn(shortest.commands).length}. Replay: ${replay}`,
    ].join('\n'),
  )
}

/** Sends commands that were taken from a failure's message to a store, as a test that the fault stays away. */
export async function replayCommands(
  options: Pick<OracleOptions, 'open' | 'reopen' | 'compare' | 'audit'>,
  commands: readonly Command[],
): Promise<void> {
  const mismatch = await attemptRun(options, commands, options.compare ?? true)
  if (mismatch) throw new Error(`Command ${mismatch.step + 1}: ${mismatch.problem}`)
}

async function attemptRun(
  { open, reopen, audit }: Pick<OracleOptions, 'open' | 'reopen' | 'audit'>,
  commands: readonly Command[],
  compare: boolean,
): Promise<Mismatch | null> {
  const first = await open()
  try {
    if (!reopen) return await runCommands([first], commands, { compare, audit })
    const second = await reopen(first)
    try {
      return await runCommands([first, second], commands, { compare, audit })
    } finally {
      await second.close()
    }
  } finally {
    await first.close()
  }
}

interface Shortened {
  readonly commands: readonly Command[]
  readonly mismatch: Mismatch
}

/** Leaves out halves, quarters and so on, then single commands and single items, while it still fails. */
async function shrink(
  commands: readonly Command[],
  mismatch: Mismatch,
  fails: (commands: readonly Command[]) => Promise<Mismatch | null>,
  runs: number,
): Promise<Shortened> {
  let best: Shortened = { commands, mismatch }
  let left = runs
  const attempt = async (shorter: readonly Command[]): Promise<boolean> => {
    if (left-- <= 0) return false
    const found = await fails(shorter)
    if (found) best = { commands: shorter.slice(0, found.step + 1), mismatch: found }
    return found !== null
  }

  for (let size = Math.ceil(commands.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.commands.length && left > 0; ) {
      const shorter = best.commands.toSpliced(at, size)
      if (shorter.length === 0 || !(await attempt(shorter))) at += size
    }
  }
  for (let at = best.commands.length - 1; at >= 0; at--) {
    for (let found = true; found && left > 0; ) {
      found = false
      for (const smaller of smallerForms(best.commands[at])) {
        found = await attempt(best.commands.with(at, smaller))
        if (found) break
      }
    }
  }
  return best
}

/** The same command with one item less. */
function* smallerForms(command: Command | undefined): Generator<Command> {
  if (command?.do === 'insert') {
    for (const n of command.jobs.keys()) yield { ...command, jobs: command.jobs.toSpliced(n, 1) }
    const { groups = [], runs = [] } = command
    for (const n of groups.keys()) yield { ...command, groups: groups.toSpliced(n, 1) }
    for (const n of runs.keys()) yield { ...command, runs: runs.toSpliced(n, 1) }
  }
  if (command?.do === 'settle') {
    for (const n of command.settlements.keys()) {
      yield { ...command, settlements: command.settlements.toSpliced(n, 1) }
    }
    for (const [n, settlement] of command.settlements.entries()) {
      const { enqueue, groups, move, ...rest } = settlement
      if (enqueue || groups || move) yield { ...command, settlements: command.settlements.with(n, rest) }
    }
    if (command.claim) yield { do: 'settle', settlements: command.settlements, by: command.by }
  }
  if (command?.do === 'move') {
    for (const n of command.moves.keys()) yield { ...command, moves: command.moves.toSpliced(n, 1) }
    for (const [n, move] of command.moves.entries()) {
      for (const part of ['groups', 'runs', 'jobs'] as const) {
        if (move[part].length > 0) yield { ...command, moves: command.moves.with(n, { ...move, [part]: [] }) }
      }
    }
  }
  if (command?.do === 'change' && 'ids' in command.target) {
    for (const n of command.target.ids.keys()) {
      yield { ...command, target: { ids: command.target.ids.toSpliced(n, 1) } }
    }
  }
}

function describeCommand({ do: what, ...call }: Command): string {
  return `${what} ${JSON.stringify(call)}`
}
