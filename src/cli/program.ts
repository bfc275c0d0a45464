import { Arguments, split } from './arguments.ts'
import { type Call, type Command, type Flag, type Flags, GLOBAL_FLAGS } from './command.ts'
import { EXIT, usage } from './exit.ts'
import { complain, explain } from './explain-error.ts'
import { quote } from './format/text.ts'
import { overview, page } from './help.ts'
import { Output, wantsColor } from './output.ts'
import { suggest } from './suggest.ts'
import { ownVersion } from './version.ts'

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** Runs one command line and returns its exit code. It never throws. */
export async function runProgram(
  argv: readonly string[],
  commands: readonly Command[],
  { env, cwd }: Surroundings,
): Promise<number> {
  // Before the arguments are understood their own complaint must already come in the form they ask for.
  let out = new Output({
    json: argv.includes('--json'),
    quiet: false,
    color: wantsColor(env, argv.includes('--no-color')),
  })
  try {
    const typed = split(argv, allFlags(commands))
    const [first, ...rest] = typed.words
    const command =
      first === undefined || first === 'help' || first === 'version'
        ? undefined
        : findCommand(first, commands)
    assertKnown([...typed.flags.keys()], command, commands)

    const flags = { ...GLOBAL_FLAGS, ...command?.flags }
    const args = new Arguments({ words: rest, flags: typed.flags }, flags, env)
    out = new Output({
      json: args.on('json'),
      quiet: args.on('quiet'),
      color: wantsColor(env, args.on('no-color')),
    })
    if (args.typed('version') || first === 'version') {
      out.data(ownVersion())
      return EXIT.ok
    }
    if (command === undefined || args.typed('help')) {
      const topic = command ?? (rest[0] === undefined ? undefined : findCommand(rest[0], commands))
      out.data(topic ? page(topic, out.paint) : overview(commands, ownVersion(), out.paint))
      return EXIT.ok
    }
    assertAction(command, rest[0])
    const call: Call = { args, out, env, cwd }
    return await command.run(call)
  } catch (error) {
    const report = explain(error, out.dialled)
    complain(report, out)
    return report.exitCode
  }
}

/** The line is split before the command is known, so a flag must take a value in all commands or in none. */
function allFlags(commands: readonly Command[]): Flags {
  const all: Record<string, Flag> = { ...GLOBAL_FLAGS }
  for (const { name, flags } of commands) {
    for (const [flag, own] of Object.entries(flags)) {
      const known = all[flag] ?? own
      if (shapeOf(known) !== shapeOf(own))
        throw new Error(`--${flag} of ${name} is a ${own.kind}, elsewhere a ${known.kind}.`)
      all[flag] = own
    }
  }
  return all
}

function shapeOf({ kind }: Flag): string {
  return kind === 'switch' || kind === 'optional' ? kind : 'value'
}

function findCommand(word: string, commands: readonly Command[]): Command {
  const found = commands.find(({ name }) => name === word)
  if (found) return found
  const names = [...commands.map(({ name }) => name), 'help', 'version']
  throw usage(`Unknown command ${quote(word)}.${meant(suggest(word, names), 'skep ')}`, 'See: skep help')
}

function assertKnown(
  names: readonly string[],
  command: Command | undefined,
  commands: readonly Command[],
): void {
  const own = { ...GLOBAL_FLAGS, ...command?.flags }
  const known = Object.keys(own)
  const shorts = new Set(Object.values(own).map(({ short }) => short))
  for (const name of names) {
    if (Object.hasOwn(own, name) || shorts.has(name)) continue
    const fix = command ? `See: skep ${command.name} --help` : 'See: skep help'
    const dash = name.length === 1 ? '-' : '--'
    const others = commands
      .filter(({ flags }) => Object.hasOwn(flags, name))
      .map((other) => `skep ${other.name}`)
    const near = suggest(name, known)
    if (others.length > 0 && near === undefined) {
      const whose = command ? `skep ${command.name} has no flag --${name}` : `--${name} needs a command`
      throw usage(`${whose}; it belongs to ${others.join(', ')}.`, fix)
    }
    throw usage(`Unknown flag ${quote(dash + name)}.${meant(near, '--')}`, fix)
  }
}

function assertAction(command: Command, word: string | undefined): void {
  if (command.takesNames === true) return
  if (command.actions === undefined || word === undefined || Object.hasOwn(command.actions, word)) return
  const names = Object.keys(command.actions)
  throw usage(
    `skep ${command.name} has no action ${quote(word)}.${meant(suggest(word, names), `skep ${command.name} `)}`,
    `Use one of: ${names.join(', ')}. See: skep ${command.name} --help`,
  )
}

function meant(word: string | undefined, before: string): string {
  return word === undefined ? '' : ` Did you mean "${before}${word}"?`
}
