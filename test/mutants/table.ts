import { INCIDENTS, type Incident } from './incidents.ts'
import { MUTANTS } from './list.ts'
import type { Killer } from './mutant.ts'
import { RULES } from './rules.ts'

/** In words, for people. */
export function killerText(killer: Killer): string {
  if ('simulation' in killer) return `simulator, ${killer.simulation} store`
  if ('model' in killer) return `model, ${killer.model}`
  const file = `\`${killer.vitest}\``
  return killer.test === undefined ? file : `${file}, “${killer.test}”`
}

/** The whole of `test/mutants/README.md`. */
export function renderPage(): string {
  const rules = Object.entries(RULES).map(([rule, words]) => `| ${rule} | ${words} |`)
  return `# Mutants

A mutant is a bug that hurt users of another queue, put into Skep on purpose in a test build. The tests have to find it:
each mutant names the test that does, and \`node --import jiti/register test/mutants/main.ts\` checks all ${MUTANTS.length} of them.
The incidents are real and public; the rules are what we learned from them.

## Incidents

| # | Incident | Here | Mutants |
|---|---|---|---|
${INCIDENTS.map(incidentRow).join('\n')}

## Mutants

| Mutant | What is broken | Rule | Found by |
|---|---|---|---|
${MUTANTS.map(({ name, story, rule, killedBy }) => `| \`${name}\` | ${story} | ${rule} | ${killerText(killedBy)} |`).join('\n')}

## Rules

| Rule | |
|---|---|
${rules.join('\n')}
`
}

const APPLIES = { now: 'applies', later: 'later', never: 'cannot happen' } as const

function incidentRow({ number, what, applies, why }: Incident): string {
  const mutants = MUTANTS.filter(({ incidents }) => incidents.includes(number)).map(
    ({ name }) => `\`${name}\``,
  )
  const here = why === undefined ? APPLIES[applies] : `${APPLIES[applies]}: ${why}`
  return `| ${number} | ${what} | ${here} | ${mutants.join(', ') || '–'} |`
}
