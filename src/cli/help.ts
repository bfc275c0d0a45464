import { variableOf } from './arguments.ts'
import { type Command, type Flags, GLOBAL_FLAGS, SERVER_FLAGS } from './command.ts'
import type { Paint } from './output.ts'

/** The page that `skep` and `skep help` show. */
export function overview(commands: readonly Command[], version: string, paint: Paint): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    `${paint('bold', 'skep')} ${version}: a durable job queue`,
    '',
    `Usage: skep <command> [flags]`,
    '',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${paint('cyan', name.padEnd(width))}  ${summary}`),
    '',
    'Flags of all commands:',
    ...flagLines(GLOBAL_FLAGS, paint),
    '',
    `Every flag can be set by a variable: ${variableOf('db')} for --db, ${variableOf('no-color')} for --no-color.`,
    'Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 not found, 4 conflict.',
    '',
    `Try it: ${paint('cyan', 'skep dev --demo')}. More about a command: skep <command> --help`,
  ].join('\n')
}

/** The page of one command. */
export function page(command: Command, paint: Paint): string {
  const { name, summary, usage, actions, flags, examples } = command
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', `${title}:`, ...lines]
  const actionNames = Object.keys(actions ?? {})
  const width = Math.max(0, ...actionNames.map((action) => action.length))
  return [
    `${paint('bold', `skep ${name}`)}: ${summary}`,
    ...section(
      'Usage',
      usage.map((line) => `  skep ${line}`),
    ),
    ...section(
      'Actions',
      actionNames.map((action) => `  ${paint('cyan', action.padEnd(width))}  ${actions?.[action] ?? ''}`),
    ),
    ...section('Flags', flagLines(flags, paint)),
    ...section('Flags of all commands', flagLines(commonFlags(command), paint)),
    ...section(
      'Examples',
      examples.map((line) => `  ${paint('dim', '$')} ${line}`),
    ),
  ].join('\n')
}

/** Without those that it has itself, or that have no meaning for it. */
function commonFlags({ flags, asksNoServer }: Command): Flags {
  const isShown = (name: string): boolean =>
    !Object.hasOwn(flags, name) && !(asksNoServer && SERVER_FLAGS.includes(name))
  return Object.fromEntries(Object.entries(GLOBAL_FLAGS).filter(([name]) => isShown(name)))
}

function flagLines(flags: Flags, paint: Paint): string[] {
  const shown = Object.entries(flags).map(([name, { kind, short, value, help }]) => {
    const argument = kind === 'switch' ? '' : kind === 'optional' ? ` [${value}]` : ` <${value}>`
    const many = kind === 'list' ? ' …' : ''
    return { text: `${short === undefined ? '    ' : `-${short}, `}--${name}${argument}${many}`, help }
  })
  const width = Math.max(...shown.map(({ text }) => text.length))
  return shown.map(({ text, help }) => `  ${paint('cyan', text.padEnd(width))}  ${help}`)
}
