import { type Invariant, waits } from './view.ts'

/** L-1 and L-3: when everything has healed, every job ends. */
export const drains: Invariant = function* (view) {
  const waiting = [...view.final].filter(([, row]) => waits(row.state))
  for (const [id, row] of waiting) {
    const message = `It was still ${row.state} when everything had healed.`
    yield { invariant: 'L-1', kind: 'not-drained', about: id, message }
  }
  if (!view.facts.drained && waiting.length === 0) {
    const message = 'Not everything had ended in the time given after the heal.'
    yield { invariant: 'L-3', kind: 'not-drained', about: 'run', message }
  }
}

/** L-2: no lease outlives its worker for good. */
export const leasesEnd: Invariant = function* (view) {
  for (const [id, row] of view.final) {
    if (row.state !== 'running') continue
    const message = `Worker ${row.worker} still held it with token ${row.token} when everything had healed.`
    yield { invariant: 'L-2', kind: 'stuck-lease', about: id, message }
  }
}

/** L-6: timers, handles and listeners are given back. */
export const nothingLeaks: Invariant = function* (view) {
  for (const [what, count] of Object.entries(view.facts.leaks)) {
    if (count === 0) continue
    yield { invariant: 'L-6', kind: 'leak', about: what, message: `${count} were left.` }
  }
}
