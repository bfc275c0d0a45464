/** Tells that a rule is broken, and how. */
export type Say = (rule: RuleName, what: string) => void

export type RuleName =
  | 'places'
  | 'finished'
  | 'counts'
  | 'uniques'
  | 'leases'
  | 'gone'
  | 'lines'
  | 'lanes'
  | 'holds'
  | 'groups'
  | 'runs'
  | 'notes'
  | 'records'
  | 'schedules'
  | 'names'
  | 'left over'
