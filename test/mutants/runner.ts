import { buildFolder } from './build.ts'
import { ask, kindOf, type Word } from './killers.ts'
import type { Killer, Mutant } from './mutant.ts'
import { killerText } from './table.ts'

export interface Verdict {
  readonly mutant: string
  readonly killer: string
  readonly word: Word['word']
  readonly said: string
  readonly seconds: number
}

export interface Outcome {
  readonly ok: boolean
  readonly mutants: number
  readonly killed: number
  /** Names of mutants that nobody found. */
  readonly survived: readonly string[]
  /** In words: what is not as it should be. */
  readonly violations: readonly string[]
  readonly verdicts: readonly Verdict[]
}

/** A mutant and the killer that has to find it. */
export interface Match {
  readonly mutant: Mutant
  readonly killer: Killer
}

const AT_ONCE = 2

/** Lets each killer look at the sources as they are, which must be green, and then at its mutants, which must not. */
export async function runMatches(
  matches: readonly Match[],
  tell: (line: string) => void = () => {},
): Promise<Outcome> {
  const folder = buildFolder()
  const violations: string[] = []
  const verdicts: Verdict[] = []
  try {
    const sound = new Set<string | null>([null])
    const killers = unmutated(matches.map(({ killer }) => killer))
    await inTurn(killers, async (killer) => {
      const { word, said } = await ask(killer, null, folder.path)
      tell(`unmutated, ${killerText(killer)}: ${word} (${said})`)
      if (word === 'green') sound.add(groundOf(killer))
      else violations.push(`Without any mutant, ${killerText(killer)} is not green: ${said}`)
    })

    let count = 0
    await inTurn(matches, async ({ mutant, killer }) => {
      if (!sound.has(groundOf(killer))) return
      const startedAt = performance.now()
      const { word, said } = await ask(killer, mutant, folder.path).catch(
        (error: unknown): Word => ({ word: 'broken', said: String(error) }),
      )
      const seconds = Number(((performance.now() - startedAt) / 1_000).toFixed(1))
      verdicts.push({ mutant: mutant.name, killer: killerText(killer), word, said, seconds })
      const how = word === 'green' ? 'SURVIVED' : word
      tell(
        `${++count}/${matches.length} ${mutant.name}, ${killerText(killer)}: ${how} in ${seconds} s (${said})`,
      )
      if (word === 'green')
        violations.push(`${mutant.name} survived ${killerText(killer)}: ${mutant.story} (${said})`)
      if (word === 'broken') violations.push(`${mutant.name}: ${killerText(killer)} could not tell: ${said}`)
    })
  } finally {
    folder.remove()
  }
  const killed = new Set(verdicts.filter(({ word }) => word === 'killed').map(({ mutant }) => mutant))
  const names = [...new Set(matches.map(({ mutant }) => mutant.name))]
  const survived = names.filter((name) => !killed.has(name))
  return {
    ok: violations.length === 0 && survived.length === 0,
    mutants: names.length,
    killed: killed.size,
    survived,
    violations,
    verdicts,
  }
}

/** What has to be green before a killer's word counts. The simulator looks for itself, at the seed that counts. */
function groundOf(killer: Killer): string | null {
  if ('simulation' in killer) return null
  return 'model' in killer ? `model ${killer.model}` : `vitest ${killer.vitest}`
}

/** Whole files, not single tests of them: so there is one run for all that use it. */
function unmutated(killers: readonly Killer[]): Killer[] {
  const grounds = new Map<string, Killer>()
  for (const killer of killers) {
    const ground = groundOf(killer)
    if (ground !== null) grounds.set(ground, 'vitest' in killer ? { vitest: killer.vitest } : killer)
  }
  return [...grounds.values()]
}

async function inTurn<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

/** The first killer of each mutant that is of one of these kinds; mutants without one are left out. */
export function matchesOf(
  mutants: readonly Mutant[],
  kinds: readonly ReturnType<typeof kindOf>[] = ['simulation', 'model', 'vitest'],
): Match[] {
  return mutants.flatMap((mutant) => {
    const killer = [mutant.killedBy, mutant.also].find((one) => one && kinds.includes(kindOf(one)))
    return killer ? [{ mutant, killer }] : []
  })
}

/** Some of these, always the same for a seed. */
export function sample<T>(items: readonly T[], count: number, seed: number): T[] {
  let state = seed >>> 0 || 1
  const random = (): number => {
    // Xorshift: not good, but the same everywhere.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  const left = [...items]
  const chosen: T[] = []
  while (chosen.length < count && left.length > 0) {
    chosen.push(...left.splice(Math.floor(random() * left.length), 1))
  }
  return chosen
}
