/** The command that runs this very trial again and shows all that happens in it. */
export function replayLine(store: string, seed: number): string {
  return `node --import jiti/register test/simulation/main.ts --store ${store} --seed ${seed} --trace`
}
