import type { Mutant } from '../mutant.ts'

const by =
  (file: string) =>
  (test: string): Mutant['killedBy'] => ({ vitest: `test/server/alerts/${file}.test.ts`, test })
const post = by('post')
const message = by('message')
const watch = by('watch')

/** Alerts that go where they must not, that anybody could have written, or that come twice. */
export const ALERT_MUTANTS: readonly Mutant[] = [
  {
    name: 'alerts-first-address-alone-is-checked',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/post.ts',
    find: 'const addresses = found.map(({ address }) => address)',
    replace: 'const addresses = found.slice(0, 1).map(({ address }) => address)',
    story: 'A name with a public and a private address is good, and the private one is dialled.',
    killedBy: post('never goes to a name that is one private among public ones'),
  },
  {
    name: 'alerts-lookup-without-end',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/post.ts',
    find: 'await within(signal, lookup(host))',
    replace: 'await lookup(host)',
    story: 'A resolver that does not answer holds all alerts, and the end of the server.',
    killedBy: post('is given up: a name that nobody looks up in time'),
  },
  {
    name: 'alerts-name-looked-up-again',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/post.ts',
    find: 'if (options.all) done(null, [...found])',
    replace: 'if (options.all) void lookup(_host).then((again) => done(null, [...again]))',
    story: 'The connection goes to what the name says when it is asked again: rebinding.',
    killedBy: post('goes to what was checked, though the name says something else a moment later'),
  },
  {
    name: 'alerts-played-again',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/message.ts',
    find: 'if (isOurs && isOfNow)',
    replace: 'if (isOurs)',
    story: 'A message that somebody recorded counts whenever it is sent again.',
    killedBy: message('is refused: an old one, played again'),
  },
  {
    name: 'alerts-written-over-another-server',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/watch.ts',
    find: `      revision,
      expect,`,
    replace: `      revision,
      ...(expect === '' ? { expect } : {}),`,
    story: 'Two servers that look at the same moment both tell.',
    killedBy: watch('are told once by servers that look in the same moment'),
  },
  {
    name: 'alerts-sent-anew-with-another-id',
    incidents: [],
    rule: 'R23',
    file: 'src/server/alerts/watch.ts',
    find: 'headers: signed(keys, { id: message.id, body, now: runtime.now() }),',
    replace: 'headers: signed(keys, { id: runtime.uuid(), body, now: runtime.now() }),',
    story: 'Whoever gets an alert twice cannot tell that it is the same.',
    killedBy: watch('are sent again with the same id until somebody takes them'),
  },
]
