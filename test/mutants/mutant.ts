/** A rule of design that a mutant breaks: R1 to R22 of the reliability study, and R23 of the server. The sentences are in `rules.ts`. */
export type Rule = `R${number}`

/** What is known to find a mutant. */
export type Killer =
  /** The simulator over this store: so many trials, from seed 1 on. */
  | {
      readonly simulation: 'memory' | 'sqlite'
      readonly trials: number
      /** @default 'jobs' */
      readonly kind?: 'jobs' | 'flows'
    }
  /** The search of all small states. */
  | { readonly model: string }
  /** A test file, or one of its tests by (a part of) its name. */
  | { readonly vitest: string; readonly test?: string }

/** The root cause of an incident, brought back into Skep by one change of the sources. Only test builds have it. */
export interface Mutant {
  readonly name: string
  /** The incidents that had this cause. Empty: a rule broken in a way that nobody has told of yet. */
  readonly incidents: readonly number[]
  readonly rule: Rule
  readonly file: `src/${string}`
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** One sentence: what is broken. */
  readonly story: string
  readonly killedBy: Killer
  /** A second killer, of another kind. */
  readonly also?: Killer
}

/** The source of the mutant's file with the bug in it. */
export function patched({ name, file, find, replace }: Mutant, source: string): string {
  const found = source.split(find).length - 1
  if (found !== 1) {
    throw new Error(
      `Mutant "${name}": its text occurs ${found} times in ${file}, it must be once. The source has changed: ` +
        'change the mutant in test/mutants with it.',
    )
  }
  return source.replace(find, () => replace)
}
