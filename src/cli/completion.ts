/** Scripts that let a shell complete the words of the command: made from the same table as the help. */
import { type Command, type Flags, GLOBAL_FLAGS } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The script for a shell. It is self-contained and starts no process during completion. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  switch (shell) {
    case 'bash':
      return bash(commands)
    case 'zsh':
      // zsh understands completions of bash, and one script is one thing less that can be wrong.
      return ['#compdef skep', 'autoload -U +X bashcompinit && bashcompinit', bash(commands)].join('\n')
    case 'fish':
      return fish(commands)
  }
}

function bash(commands: readonly Command[]): string {
  const cases = commands.map(
    ({ name, actions, flags }) =>
      `    ${name}) words="${[...Object.keys(actions ?? {}), ...flagWords({ ...flags, ...GLOBAL_FLAGS })].join(' ')}" ;;`,
  )
  const names = [...commands.map(({ name }) => name), 'help'].join(' ')
  return [
    '_skep() {',
    '  local current="$2" words=""',
    '  set -- "$1" "$2" "$3" $COMP_LINE; case "$5" in',
    ...cases,
    '  esac',
    `  if [ "$COMP_CWORD" -eq 1 ]; then words="${names}"; fi`,
    '  COMPREPLY=( $(compgen -W "$words" -- "$current") )',
    '  if [ -z "$COMPREPLY" ]; then COMPREPLY=( $(compgen -f -- "$current") ); fi',
    '}',
    'complete -F _skep skep',
    '',
  ].join('\n')
}

function fish(commands: readonly Command[]): string {
  const lines = ['complete -c skep -f']
  for (const { name, summary, actions, flags } of commands) {
    const within = `__fish_seen_subcommand_from ${name}`
    lines.push(`complete -c skep -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`)
    for (const [action, help] of Object.entries(actions ?? {}))
      lines.push(`complete -c skep -n ${quoted(within)} -a ${action} -d ${quoted(help)}`)
    for (const [flag, { kind, short, help }] of Object.entries(flags)) {
      const takes = kind === 'text' || kind === 'list' ? ' -r' : ''
      const letter = short === undefined ? '' : ` -s ${short}`
      lines.push(`complete -c skep -n ${quoted(within)} -l ${flag}${letter}${takes} -d ${quoted(help)}`)
    }
  }
  for (const [flag, { help }] of Object.entries(GLOBAL_FLAGS))
    lines.push(`complete -c skep -l ${flag} -d ${quoted(help)}`)
  return `${lines.join('\n')}\n`
}

function flagWords(flags: Flags): string[] {
  return Object.keys(flags).map((flag) => `--${flag}`)
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
