import { createInterface } from 'node:readline/promises'
import type { Call } from '../command.ts'
import { CliError, usage } from '../exit.ts'

/** Asks for a confirmation, unless --yes is given. Refuses without a terminal. */
export async function confirm({ args, out }: Call, question: string): Promise<void> {
  if (args.on('yes')) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usage(
      `${question} Cannot ask: this is not a terminal.`,
      'Add --yes to confirm, or --dry-run to preview it.',
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
