import { createInterface } from 'node:readline/promises'
import type { Call } from '../command.ts'
import { CliError, usage } from '../exit.ts'

/** Asks a person, unless --yes answers. Where there is no person to ask it refuses. */
export async function confirm({ args, out }: Call, question: string): Promise<void> {
  if (args.on('yes')) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usage(
      `${question} There is nobody here to ask.`,
      'Add --yes to do it, or --dry-run to see what it would do.',
    )
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await prompt.question(`${question} ${out.paintNote('dim', '[y/N]')} `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('CANCELLED', 'Nothing was changed.')
  } finally {
    prompt.close()
  }
}
