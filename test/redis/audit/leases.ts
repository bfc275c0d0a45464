import {
  type Contents,
  claimIn,
  hashOf,
  keyIn,
  leaseIn,
  numberAt,
  numberBytes,
  queueAt,
  queueBytes,
  setOf,
  uuidIn,
} from '../contents.ts'
import type { Say } from './say.ts'

/** A claim is there as long as one of its leases is, and is found by its bound, by its start and by its worker. */
export function checkLeases(contents: Contents, say: Say): void {
  const held = new Map([...hashOf(contents, 'held')].map(([id, value]) => [id, leaseIn(value)]))
  const claims = hashOf(contents, 'claims')
  const live = hashOf(contents, 'live')
  const leased = new Set<string>()
  for (const [name, value] of claims) {
    const token = name.slice(0, -5)
    const q = queueAt(name, token.length + 1)
    const claim = claimIn(value)
    const keys = [...new Set(claim.ids)].map((id) => keyIn(contents, q, id))
    const mine = keys.filter((id) => {
      const lease = held.get(id)
      return lease?.token === token && lease.q === q
    })
    for (const id of mine) leased.add(id)
    const counted = Number(live.get(name) ?? 0)
    if (mine.length === 0) say('leases', `the claim ${token} holds nothing`)
    if (counted !== mine.length)
      say('leases', `the claim ${token} counts ${counted} leases and has ${mine.length}`)
    if (mine.some((id) => (held.get(id)?.until ?? 0) < claim.bound)) {
      say('leases', `a lease of the claim ${token} ends before its bound`)
    }
    const where = [
      ['leases', queueBytes(q) + numberBytes(claim.bound) + token],
      ['started', queueBytes(q) + numberBytes(claim.started) + token],
      ['tasks', `${claim.worker}\0${queueBytes(q)}${token}`],
    ] as const
    for (const [set, member] of where) {
      if (!setOf(contents, set).has(member)) say('leases', `the claim ${token} is not in ${set}`)
    }
  }
  for (const set of ['leases', 'started', 'tasks'] as const) {
    const { size } = setOf(contents, set)
    if (size !== claims.size) say('leases', `${set} has ${size} claims, and there are ${claims.size}`)
  }
  if (live.size !== claims.size) say('leases', `live has ${live.size} claims, and there are ${claims.size}`)
  for (const id of held.keys()) {
    if (!leased.has(id)) say('leases', `job ${uuidIn(id)} is held by no claim`)
  }
}

/** Whoever left lately is found by id, by token and by time, and is not here. */
export function checkGone(contents: Contents, say: Say): void {
  const gone = hashOf(contents, 'gone')
  const index = setOf(contents, 'gone:index')
  let members = 0
  for (const [name, value] of gone) {
    const text = value.toString('latin1')
    const length = value.readUInt16BE(0)
    const token = text.slice(2, 2 + length)
    const ids = text.slice(7 + length).match(/[\s\S]{16}/g) ?? []
    const wanted = [`i${ids.at(-1)}${ids[0]}${name}`, ...(token === '' ? [] : [`t${token}\0${name}`])]
    members += wanted.length
    for (const member of wanted) {
      if (!index.has(member)) say('gone', `what left as ${numberAt(name)} is not found by "${member[0]}"`)
    }
    if (ids.length === 0 || ids.some((id, n) => n > 0 && id <= (ids[n - 1] as string))) {
      say('gone', `the ids of what left as ${numberAt(name)} are not in order`)
    }
    const queue = text.slice(3 + length, 7 + length)
    for (const id of ids) {
      // The queue stands after the mark of a record.
      const key = keyIn(contents, queueAt(queue), id)
      const there = hashOf(contents, 'jobs').get(key) ?? hashOf(contents, 'archive').get(key)
      if (there?.toString('latin1', 1, 5) === queue) {
        say('gone', `job ${uuidIn(id)} left, and is here`)
      }
    }
  }
  const ends = [...index].filter((member) => member.startsWith('u'))
  for (const member of ends) {
    if (!gone.has(member.slice(9)))
      say('gone', `what left as ${numberAt(member, 9)} is not there and shall be forgotten`)
  }
  if (ends.length !== gone.size) say('gone', `${ends.length} of ${gone.size} will be forgotten`)
  if (index.size !== ends.length + members)
    say('gone', `the index has ${index.size - ends.length - members} too many`)
}
