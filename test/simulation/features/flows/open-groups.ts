import { all, settled } from '../../../../src/index.ts'
import type { Trial } from '../../trial.ts'
import { draftOf, drawMembers } from './groups.ts'

/** Few, so that programs meet. */
const KEYS = ['north', 'south', 'east', 'west']

/** The keys that somebody has used, by the group. */
const used = new WeakMap<Trial, Map<string, string>>()

function usedIn(trial: Trial): Map<string, string> {
  const known = used.get(trial) ?? new Map<string, string>()
  used.set(trial, known)
  return known
}

/** Somebody opens a group that others may have opened, adds to it, or seals it; too early and too late as well. */
export function useOpenGroup(trial: Trial): void {
  const { random } = trial
  for (let count = random.int(1, 3); count > 0; count--) {
    const app = random.pick(trial.up)
    const { groups } = app.skep
    const key = random.pick(KEYS)
    const group = groups.keyed(key)
    const isNew = !usedIn(trial).has(group.id)
    usedIn(trial).set(group.id, key)
    const follow = () => draftOf('joined')
    if (isNew || random.chance(0.2)) {
      const isSettled = random.chance(0.3)
      app.track(
        groups.open(key, {
          join: isSettled ? settled : all,
          next: follow(),
          ...(isSettled ? {} : { onFailure: follow(), onComplete: follow() }),
        }),
      )
    } else if (random.chance(0.15)) app.track(group.seal())
    else app.track(group.add(drawMembers(random), { seal: random.chance(0.1) }))
  }
}

/** After the heal: what nobody has sealed is sealed, by each who is asked until it is. */
export function sealAll(trial: Trial): void {
  const app = trial.up.at(-1)
  if (!app || app.open > 0) return
  for (const id of trial.witness.open) {
    const key = usedIn(trial).get(id)
    if (key !== undefined) app.track(app.skep.groups.keyed(key).seal())
  }
}
