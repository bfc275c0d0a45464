/**
 * The command that runs this very trial again and prints its trace. It goes through vitest, as the trial did: what
 * transpiles the sources decides in which order promises settle, so that the same seed is another trial in `main.ts`.
 */
export function replayLine(
  store: string,
  seed: number,
  kind = 'jobs',
  options: { notices?: boolean } = {},
): string {
  const variables = [
    `STORE=${store}`,
    ...(kind === 'jobs' ? [] : [`KIND=${kind}`]),
    ...(options.notices ? ['NOTICES=1'] : []),
    `SEED=${seed}`,
  ]
  return `${variables.join(' ')} npx vitest run test/simulation/replay.test.ts`
}

/** The same for a trial of `main.ts`. */
export function replayLineOfMain(
  store: string,
  seed: number,
  kind = 'jobs',
  options: { notices?: boolean } = {},
): string {
  const of = kind === 'jobs' ? '' : ` --kind ${kind}`
  return `node --import jiti/register test/simulation/main.ts --store ${store}${of}${options.notices ? ' --notices' : ''} --seed ${seed} --trace`
}
