import type { Command } from '../../command.ts'
import { completionScript, SHELLS, type Shell } from '../../completion.ts'
import { EXIT, usage } from '../../exit.ts'
import { quote } from '../../format/text.ts'

/** `commands` are all that there are, this one included: they are read when it runs. */
export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'Print a script that completes commands and flags in your shell',
    usage: [`completion ${SHELLS.join('|')}`],
    asksNoServer: true,
    actions: Object.fromEntries(SHELLS.map((shell) => [shell, `The script for ${shell}`])),
    takesNames: true,
    flags: {},
    examples: [
      'source <(skep completion bash)',
      'skep completion fish > ~/.config/fish/completions/skep.fish',
    ],

    async run({ args, out, env }) {
      const shell = args.words[0] ?? env['SHELL']?.split('/').at(-1)
      if (!SHELLS.includes(shell as Shell)) {
        throw usage(
          shell === undefined ? 'Which shell?' : `There is no completion for ${quote(shell)}.`,
          `skep completion ${SHELLS.join('|')}`,
        )
      }
      out.data(completionScript(shell as Shell, commands()))
      return EXIT.ok
    },
  }
}
