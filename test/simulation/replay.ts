/** The command that runs this very trial again and shows all that happens in it. */
export function replayLine(
  store: string,
  seed: number,
  kind = 'jobs',
  options: { notices?: boolean } = {},
): string {
  const of = kind === 'jobs' ? '' : ` --kind ${kind}`
  return `node --import jiti/register test/simulation/main.ts --store ${store}${of}${options.notices ? ' --notices' : ''} --seed ${seed} --trace`
}
