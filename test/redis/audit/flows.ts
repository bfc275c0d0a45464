import { GROUP_EVENTS } from '../../../src/core/flows/groups.ts'
import { outcomeIn } from '../../../src/stores/redis/flows/flows.ts'
import {
  bytesOf,
  type Contents,
  hashOf,
  idIn,
  jobIn,
  numberBytes,
  setOf,
  textIn,
  uuidIn,
} from '../contents.ts'
import type { Say } from './say.ts'

interface Group {
  readonly size: number
  readonly need: number
  readonly failing: number
  readonly done: number
  readonly failed: number
  readonly fired: number
  readonly endedAt: number | null
  readonly keepMs: number
  readonly hasRun: boolean
}

function groupIn(value: Buffer): Group {
  const ended = value.readDoubleBE(42)
  return {
    size: value.readDoubleBE(0),
    need: value.readDoubleBE(8),
    failing: value[16] as number,
    done: value.readDoubleBE(17),
    failed: value.readDoubleBE(25),
    fired: value[33] as number,
    endedAt: ended < 0 ? null : ended,
    keepMs: value.readDoubleBE(50),
    hasRun: (value[58] as number) % 2 === 1,
  }
}

interface Run {
  readonly id: string
  readonly space: string
  readonly flow: string
  readonly root: string
  readonly status: string
  readonly attributes: readonly string[] | Record<string, never>
  readonly member?: { readonly group: string; readonly n: number } | null
  readonly expiresAt?: number | null
}

const n4 = (n: number): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(n)
  return bytes.toString('latin1')
}

/** A group counts what its members came to, and has fired what is true. */
export function checkGroups(contents: Contents, say: Say): void {
  const groups = hashOf(contents, 'groups')
  const outcomes = hashOf(contents, 'outcomes')
  const index = setOf(contents, 'runs:index')
  const ends = setOf(contents, 'flows:end')
  const counted = new Map<string, { done: number; failed: number }>()
  for (const [name, value] of outcomes) {
    const id = name.slice(0, -4)
    const sums = counted.get(id) ?? { done: 0, failed: 0 }
    counted.set(id, sums)
    if (outcomeIn(value).state === 'done') sums.done++
    else sums.failed++
    if (!setOf(contents, 'results').has(name)) say('groups', `an outcome of group ${id} is not found`)
    if (!groups.has(`n${id}`) && !groups.has(`u${id}`)) say('groups', `outcomes of group ${id} stay for ever`)
  }
  const { size: results } = setOf(contents, 'results')
  if (results !== outcomes.size)
    say('groups', `${results} members have ended, and ${outcomes.size} have an outcome`)

  let expected = 0
  for (const [key, value] of groups) {
    if (key.startsWith('u')) {
      expected++
      if (!ends.has(`${value.toString('latin1')}${key}`))
        say('groups', `nobody forgets group ${key.slice(1)}, which was never made`)
      if (groups.has(`n${key.slice(1)}`)) say('groups', `group ${key.slice(1)} was made, and was not`)
    }
    if (!key.startsWith('n')) continue
    const id = key.slice(1)
    const group = groupIn(value)
    const text = groups.get(id)
    if (!text) say('groups', `nobody knows what group ${id} is made of`)
    const sums = counted.get(id) ?? { done: 0, failed: 0 }
    if (group.done !== sums.done || group.failed !== sums.failed) {
      say(
        'groups',
        `group ${id} counts ${group.done} and ${group.failed}, and there are ${sums.done} and ${sums.failed}`,
      )
    }
    if ((group.endedAt !== null) !== (group.done + group.failed === group.size))
      say('groups', `group ${id} has ended too early or not at all`)
    for (const [bit, event] of GROUP_EVENTS.entries()) {
      if (isTrue(event, group) && (group.fired >> bit) % 2 === 0)
        say('groups', `group ${id} has not fired "${event}"`)
    }
    if (index.has(`o${id}`) !== (group.endedAt === null))
      say('groups', `group ${id} is listed as open, or is not, and should not be`)
    if (group.endedAt !== null && !group.hasRun) {
      expected++
      if (!ends.has(`${numberBytes(group.endedAt + group.keepMs)}g${id}`))
        say('groups', `group ${id} stays for ever`)
    }
    const made = text && (JSON.parse(text.toString()) as { space: string; run?: string | null })
    if (made?.run && !index.has(`g${made.space}\0${made.run}${id}`))
      say('groups', `group ${id} is not found by its run`)
  }
  const told = [...groups.keys()].filter((key) => !/^[nu]/.test(key))
  for (const id of told) if (!groups.has(`n${id}`)) say('groups', `nobody knows how far group ${id} is`)
  const kept = [...ends].filter((member) => member[8] !== 'r').length
  if (kept !== expected) say('groups', `${kept} groups shall go, and ${expected} are over`)
}

function isTrue(event: (typeof GROUP_EVENTS)[number], { done, failed, size, need, failing }: Group): boolean {
  if (event === 'success') return done >= need
  if (event === 'settled') return done + failed === size
  if (done >= need) return false
  return failing === 1 ? failed > 0 : failing === 2 ? size - failed < need : done + failed === size
}

/** Members that have not ended are jobs and runs that have not. */
export function checkMembers(contents: Contents, say: Say): void {
  const expected = new Map<string, string>()
  for (const [id, record] of hashOf(contents, 'jobs')) {
    const { member: g } = jobIn(record)
    if (g) expected.set(`${bytesOf(g[0])}${n4(g[1])}`, `j${idIn(id)}`)
  }
  for (const run of runsIn(contents)) {
    if (run.member && run.status === 'running') {
      expected.set(`${bytesOf(run.member.group)}${n4(run.member.n)}`, `r${run.id}`)
    }
  }
  const members = hashOf(contents, 'members')
  for (const [place, id] of expected) {
    if (members.get(place)?.toString('latin1') !== id)
      say('groups', `${shown(id)} is no member of group ${place.slice(0, -4)}`)
  }
  for (const [place, id] of members) {
    if (!expected.has(place))
      say('groups', `${shown(id.toString('latin1'))} is a member, and is over or not there`)
  }
}

const shown = (member: string): string => (member.startsWith('j') ? uuidIn(member.slice(1)) : member.slice(1))

/** A run is found by all that it is looked for by, and goes when it has expired. */
export function checkRuns(contents: Contents, say: Say): void {
  const index = setOf(contents, 'runs:index')
  const expected = new Set<string>()
  let expiring = 0
  for (const { id, space, flow, root, status, attributes, expiresAt } of runsIn(contents)) {
    const names = [
      `a${space}\0${id}`,
      `f${space}\0${flow}\0${id}`,
      `r${space}\0${root}\0${id}`,
      `s${space}\0${status}\0${id}`,
    ]
    if (Array.isArray(attributes))
      names.push(...attributes.map((attribute) => `x${space}\0${attribute}\0${id}`))
    for (const name of names) {
      expected.add(bytesOf(name))
      if (!index.has(bytesOf(name))) say('runs', `run ${id} is not found by "${name[0]}"`)
    }
    if (expiresAt == null) continue
    expiring++
    if (!setOf(contents, 'flows:end').has(`${numberBytes(expiresAt)}r${space}\0${id}`))
      say('runs', `run ${id} stays for ever`)
  }
  for (const member of index) {
    if (!'go'.includes(member[0] as string) && !expected.has(member))
      say('runs', `"${textIn(member)}" leads to no run`)
    if (member.startsWith('o') && !hashOf(contents, 'groups').has(`n${member.slice(1)}`))
      say('runs', `"${member}" leads to no group`)
    if (member.startsWith('g') && !hashOf(contents, 'groups').has(`n${member.slice(-36)}`))
      say('runs', `"${member}" leads to no group`)
  }
  const listed = [...setOf(contents, 'flows:end')].filter((member) => member[8] === 'r').length
  if (listed !== expiring) say('runs', `${listed} runs shall go, and ${expiring} are over`)
}

function runsIn(contents: Contents): Run[] {
  return [...hashOf(contents, 'runs').values()].map((value) => JSON.parse(value.toString()) as Run)
}
