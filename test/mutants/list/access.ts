import type { Mutant } from '../mutant.ts'

const by =
  (file: string) =>
  (test: string): Mutant['killedBy'] => ({ vitest: `test/server/${file}.test.ts`, test })
const authorize = by('access/authorize')
const identify = by('access/identify')
const login = by('access/login')
const tokens = by('access/tokens')

/** Doors of the server that somebody left open, or closed to those who may come in. */
export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'access-operators-enqueue',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/authorize.ts',
    find: `operate: ['operate', 'read'],`,
    replace: `operate: ['operate', 'read', 'enqueue'],`,
    story: 'Whoever may change jobs may also make new ones, although nobody said so.',
    killedBy: authorize('include each other where people are meant'),
  },
  {
    name: 'access-first-queue-alone-is-asked-for',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/authorize.ts',
    find: 'call.queues.find((queue)',
    replace: 'call.queues.slice(0, 1).find((queue)',
    story: 'A call about several queues is judged by the first of them.',
    killedBy: { vitest: 'test/server/access/authorize.test.ts' },
  },
  {
    name: 'access-proxy-taken-for-the-machine',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/identify.ts',
    find: '!isLoopback(socket.address) || isForwarded(request) ||',
    replace: '!isLoopback(socket.address) ||',
    story: 'Everybody whom a proxy on this machine sends on may do everything.',
    killedBy: identify('does not take a proxy on its machine for its machine'),
  },
  {
    name: 'access-logout-is-forgotten',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/sessions.ts',
    find: 'await this.#options.records.removeRecords({ ...PLACE, ids: [id] })\n',
    replace: '',
    story: 'After a logout the cookie is as good as before.',
    killedBy: login('ends with a logout'),
  },
  {
    name: 'access-revoked-token-is-remembered',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/tokens.ts',
    find: 'this.#cache.forget(id)\n    this.#usedAt.delete(id)',
    replace: 'this.#usedAt.delete(id)',
    story: 'The server that revoked a token lets it in for some seconds more.',
    killedBy: tokens('ends at once here when it is revoked'),
  },
  {
    name: 'access-expired-token-is-good',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/tokens.ts',
    find: 'if (token.expiresAt !== null && token.expiresAt <= now) return null\n',
    replace: '',
    story: 'A token that is remembered goes on after its end.',
    killedBy: tokens('ends when its time is over, also while it is remembered'),
  },
  {
    name: 'access-guesses-are-not-counted',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/identify.ts',
    find: 'const waitMs = this.#failures.take(networkOf(address))',
    replace: 'const waitMs = this.#failures.wait(networkOf(address))',
    story: 'One address may guess tokens as fast as it can.',
    killedBy: identify('is tried only so often by one address'),
  },
  {
    name: 'access-believes-the-client-about-itself',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/remote.ts',
    find: 'const address = forwarded.at(-proxies)',
    replace: 'const address = forwarded.at(0)',
    story: 'Who writes an address into the header is taken to come from it.',
    killedBy: identify('are believed only as many as there are'),
  },
  {
    name: 'access-another-site-posts-by-a-form',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/origin.ts',
    find: `const isVisit = isSafe && headers.get('sec-fetch-mode') === 'navigate'`,
    replace: `const isVisit = headers.get('sec-fetch-mode') === 'navigate'`,
    story: 'A form on another site changes jobs with the login of whoever looks at it.',
    killedBy: { vitest: 'test/server/access/identify.test.ts' },
  },
  {
    name: 'access-body-of-any-type',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/origin.ts',
    find: 'if (!isSafe && !isForm) refuseType(request)',
    replace: '',
    story: 'Bodies are taken that a page of another site can send unasked.',
    killedBy: { vitest: 'test/server/access/identify.test.ts' },
  },
]
