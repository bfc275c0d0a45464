import type { Rule } from './mutant.ts'

/** The rules that prevent the incidents, in a few words each. */
export const RULES: Readonly<Record<Rule, string>> = {
  R1: 'Every settle is fenced by the token.',
  R2: 'One transition is one transaction, and checks come before writes.',
  R3: 'A lease is counted from the call, on a clock that does not jump.',
  R4: 'Heartbeats stop last.',
  R5: 'Nobody holds a lease on what cannot run.',
  R6: 'A state is explicit, and going back restores all of it.',
  R7: 'Hints are only hints.',
  R8: 'Recovery is continuous, quick, scoped and bounded.',
  R9: 'Slots are counted from what is there.',
  R10: 'Leadership is an optimisation.',
  R11: 'Durability is declared and verified.',
  R12: 'Readers follow commit order, not id order.',
  R13: 'Identity keys are complete and typed.',
  R14: 'A schedule is a persisted chain of slots.',
  R15: 'Every loop is supervised.',
  R16: 'One bad row is isolated.',
  R17: 'Every wait has an end.',
  R18: 'Filter before the limit, and page by key.',
  R19: 'SQL means the same under every plan and in every dialect.',
  R20: 'Joins can be recomputed.',
  R21: 'The hot index stays small.',
  R22: 'Sizes are checked before anything is expanded.',
  R23: 'Who may is asked before anything happens, and what may not be seen is not there.',
}
