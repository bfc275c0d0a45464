/** Prose and tables name only what there is: commands, flags, codes, options, events, paths; and every figure has one source. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERROR_CODES } from 'skep'
import { describe, expect, it } from 'vitest'
import 'skep/memory'
import 'skep/nats'
import 'skep/otel'
import 'skep/postgres'
import 'skep/redis'
import 'skep/server'
import 'skep/sqlite'
import 'skep/testing'
import { variableOf } from '../../src/cli/arguments.ts'
import { GLOBAL_FLAGS } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/command-table.ts'
import { declaredOptions } from '../../src/core/options.ts'
import { describePolicy } from '../../src/core/policies/describe-policy.ts'
import { backoffMs, DEFAULT_POLICY, type FailurePolicy } from '../../src/core/policies/policy.ts'
import { EXAMPLES } from '../../src/operations/examples/table.ts'
import { EVENT_NAMES } from '../../src/worker/event-names.ts'
import {
  columnsOf,
  eventsNamedIn,
  everyIdentifier,
  exportedNames,
  outermostIn,
  propertiesIn,
  unknownIdentifiers,
  unknownProperties,
  wholeSpansOf,
} from './identifiers.ts'
import { type Page, pages, readPage, root } from './markdown.ts'
import { type Code, callsOf, cellsOf, commandsOf, paragraphsOf, proseOf, quotedIn, spansOf } from './names.ts'

/** The pages for users. */
const written = pages().filter(
  ({ path }) => path === 'README.md' || path === 'SECURITY.md' || path.startsWith('docs/'),
)
const deployed: readonly Code[] = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ya?ml|json|service)$/.test(name))
  .flatMap((name) =>
    [...readFileSync(join(root, 'deploy', name), 'utf8').matchAll(/`([^`\n]+)`|^ExecStart=(.+)$/gm)].map(
      ([, span, start]) => ({ at: `deploy/${name}`, text: (span ?? start) as string }),
    ),
  )

const flagsOf = (name: string): readonly string[] =>
  Object.keys({ ...GLOBAL_FLAGS, ...COMMANDS.find((command) => command.name === name)?.flags })
const everyFlag = new Set(COMMANDS.flatMap(({ name }) => flagsOf(name)))

/** Why a call of `skep` cannot be, or null. */
function faultOf([name = '', ...rest]: readonly string[]): string | null {
  // A placeholder, a flag of its own, or the command itself.
  if (/^[<[…-]/.test(name) || name === 'help' || name === 'version') return null
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) return `there is no command "${name}"`
  const [action = ''] = rest
  const known = command.actions === undefined || command.takesNames === true || !/^[a-z][a-z-]*$/.test(action)
  if (!known && !Object.hasOwn(command.actions, action)) return `skep ${name} has no action "${action}"`
  const own = flagsOf(name)
  const flag = rest.find((word) => /^--[a-z]/.test(word) && !own.includes(nameOf(word)))
  return flag === undefined ? null : `skep ${name} has no flag ${flag}`
}

/** `--drain=10s` names `drain`. */
const nameOf = (flag: string): string => (/^--([a-z][a-z-]*)/.exec(flag)?.[1] ?? '') as string

/** Flags of other programs. */
const FOREIGN_FLAGS: Readonly<Record<string, string>> = {
  '--keep': 'of npm run bench',
  '--api-token': 'an example of a secret that the redactor hides',
  '--define': 'of esbuild',
  '--banner': 'of esbuild',
}

/** Words in capitals that are no codes of ours. */
const FOREIGN_WORDS: Readonly<Record<string, string>> = {
  ERROR_CODES: 'an export: the list of codes itself',
  QUERY_FIELDS: 'an export: the fields of queries',
  RESOURCE_EXHAUSTED: 'a status of gRPC',
  SQLITE_BUSY: 'an error of SQLite',
}

/** Names in code that are neither options nor exported. */
const FOREIGN_NAMES: Readonly<Record<string, string>> = {
  rawHeaders: 'of node:http, in the examples of what is redacted',
  password: 'in the examples of what is redacted',
  accept: 'a header of HTTP',
  authorization: 'a header of HTTP',
  acme: 'a space, in an example',
  orderId: 'an attribute, in an example',
  privateKey: 'an example of a secret that the redactor hides',
  activateDelayedJobs: 'of bee-queue',
  delayUntil: 'of bee-queue',
  dependsOn: 'of pg-boss',
  getChildrenValues: 'of BullMQ',
  groupConcurrency: 'of pg-boss',
  limiter: 'of BullMQ',
  resolveFlow: 'of pg-boss',
  singletonKey: 'of pg-boss',
  startAfter: 'of pg-boss',
  external: 'of bundlers',
  cert: 'of TLS in Node',
  maxReconnectAttempts: 'of the client of NATS',
  synchronous_mode: 'of Patroni',
  synchronous_mode_strict: 'of Patroni',
  terminationGracePeriodSeconds: 'of Kubernetes',
}

const optionNames = new Set(declaredOptions().flatMap(({ keys }) => Object.keys(keys)))
const exported = exportedNames()
const isProperty = (name: string): boolean =>
  optionNames.has(name) || exported.has(name) || allowed(FOREIGN_NAMES, name)

const allowed = (list: Readonly<Record<string, string>>, name: string): boolean => Object.hasOwn(list, name)

describe('the pages', () => {
  it.each([
    ['npx skep retry', 'there is no command "retry"'],
    ['skep dead redrvie mail', 'skep dead has no action "redrvie"'],
    ['SKEP_DB=jobs.db npx skep worker jobs.js --concurency 5', 'skep worker has no flag --concurency'],
    ['npx skep queues && npx skep dead retry mail --yes', null],
    ['npm install skep pg', null],
  ])('are read as commands: %s', (text, fault) => {
    const faults = callsOf({ at: '', text }).map(faultOf)

    expect(faults.find((one) => one !== null) ?? null).toBe(fault)
  })

  it('call only commands, actions and flags that exist', () => {
    const codes = [...written.flatMap(commandsOf), ...deployed]
    const calls = codes.flatMap((code) =>
      callsOf(code).map((call) => ({ at: code.at, fault: faultOf(call) })),
    )

    expect(calls.length).toBeGreaterThan(100)
    expect(calls.filter(({ fault }) => fault !== null)).toEqual([])
  })

  it('name only flags that exist', () => {
    const named = written
      .flatMap(spansOf)
      .filter(({ text }) => /^--[a-z]/.test(text))
      .flatMap(({ at, text }) => [...text.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => ({ at, flag })))

    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ flag }) => !everyFlag.has(nameOf(flag)) && !allowed(FOREIGN_FLAGS, flag))).toEqual(
      [],
    )
  })

  it('name only error codes and variables that exist', () => {
    const variables = new Set([...everyFlag].map(variableOf))
    const isOurs = (word: string): boolean =>
      (ERROR_CODES as readonly string[]).includes(word) || variables.has(word)
    const named = written
      .flatMap(spansOf)
      .filter(({ text }) => /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(text))
      .map(({ at, text }) => ({ at, text }))

    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(({ text }) => !isOurs(text) && !allowed(FOREIGN_WORDS, text))).toEqual([])
  })

  it('list only options that one call has together', () => {
    const places = declaredOptions()
    const tables = written
      .flatMap((page) => columnsOf(page, /^Options?\b/))
      .map(({ at, cells }) => ({ at, texts: cells.flatMap(quotedIn) }))
    const unknown = tables.flatMap(({ at, texts }) =>
      texts
        .flatMap((text) => (/^[\w.]+$/.test(text) ? text.split('.') : propertiesIn(text)))
        .flatMap((name) => (optionNames.has(name) ? [] : [{ at, name }])),
    )
    const scattered = tables
      .map(({ at, texts }) => ({ at, names: texts.flatMap(outermostIn) }))
      .filter(
        ({ names }) =>
          names.length === 0 || !places.some(({ keys }) => names.every((name) => keys[name] === true)),
      )

    expect(tables.length).toBeGreaterThan(12)
    expect(unknown).toEqual([])
    expect(scattered).toEqual([])
  })

  it('name only options and fields that exist in objects', () => {
    const properties = written.flatMap(wholeSpansOf).flatMap(({ text }) => propertiesIn(text))

    expect(properties.length).toBeGreaterThan(150)
    expect(written.flatMap((page) => unknownProperties(page, isProperty))).toEqual([])
  })

  it('name only identifiers that the sources have', () => {
    const found = everyIdentifier()
    const isFound = (name: string): boolean =>
      found.has(name) || optionNames.has(name) || allowed(FOREIGN_NAMES, name)

    expect(written.flatMap((page) => unknownIdentifiers(page, isFound))).toEqual([])
  })

  it('name only events that exist, and all of them', () => {
    const named = [...written, readPage('ARCHITECTURE.md'), readPage('CHANGELOG.md')].flatMap(eventsNamedIn)
    const [table] = columnsOf(readPage('docs/events.md'), /^Event$/)
    const exists = (name: string): boolean => (EVENT_NAMES as readonly string[]).includes(name)

    expect(named.length).toBeGreaterThan(12)
    expect(named.filter(({ name }) => !exists(name))).toEqual([])
    expect(table?.cells.flatMap(quotedIn).sort()).toEqual([...EVENT_NAMES].sort())
  })

  it('name only files of the repository that exist', () => {
    const named = written
      .flatMap(spansOf)
      .flatMap(({ at, text }) =>
        [
          ...text.matchAll(
            /(?:^|\s)((?:src|test|docs|deploy|scripts|examples|proto|bench|dashboard)\/[\w./*<>-]*)/g,
          ),
        ].map(([, path]) => ({ at, path: (path as string).replace(/[.:,]$/, '') })),
      )
    // Of `test/redis/<name>.test.ts` only the folder can be looked for.
    const placeOf = (path: string): string => path.replace(/[^/]*[<*].*$/, '')

    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ path }) => !existsSync(join(root, placeOf(path))))).toEqual([])
  })
})

describe('A page with a name that does not exist', () => {
  it.each([
    ["To take over sooner pass `rescueGrcae: '5s'` to the worker.", 'rescueGrcae'],
    ['Set `concurency:` on the queue.', 'concurency'],
    ["The worker takes `{ concurrency, leese: '1s' }`.", 'leese'],
    ['Write `skep.worker(handlers, { concurrency: 5, pol: … })`.', 'pol'],
    ["Limits of lanes: `lanes: { rate: { limt: 5, per: '1s' } }`.", 'limt'],
    ["It goes on in the next line: `{ concurrency: 5,\n  leese: '1s' }`.", 'leese'],
    ['| Store | Set |\n|---|---|\n| Redis | `prefx: …` |', 'prefx'],
  ])('fails: %s', (text, name) => {
    expect(unknownProperties(pageOf(text), isProperty)).toEqual([{ at: expect.any(String), name }])
  })

  it('fails also if it has the bare name', () => {
    const found = everyIdentifier()
    const unknown = unknownIdentifiers(pageOf('`rescueGrcae` and `rescueGrace`'), (name) => found.has(name))

    expect(unknown.map(({ name }) => name)).toEqual(['rescueGrcae'])
  })

  it.each([
    "Pass `rescueGrace: '5s'` and `{ concurrency, lanes: { order: 'strict' } }`.",
    'Queries are `state:ready queue:mail`, addresses `redis://localhost`, and channels `&{skep}:hints*`.',
    '```ts\nworker({ leese: 1 })\n```',
  ])('does not fail for what exists, or is something else: %s', (text) => {
    expect(unknownProperties(pageOf(text), isProperty)).toEqual([])
  })

  it.each([
    ["skep.on('completed', log)", ['completed']],
    ['The `completed` event is sent.', ['completed']],
    ['Listen to `dead`, `failed` and `lost` events.', ['dead', 'failed', 'lost']],
    ['It sends the events `dead` or\n`failed`.', ['dead', 'failed']],
    ['| When | Event |\n|---|---|\n| at the end | `done` |', ['done']],
    ['Its `eventLoop` is late, and events are late.', []],
  ])('fails for events: %s', (text, names) => {
    expect(eventsNamedIn(pageOf(text)).map(({ name }) => name)).toEqual(names)
  })

  it('has options in any column', () => {
    const page = pageOf(
      '| Where | Options | Of |\n|---|---|---|\n| a | `x`, `y` | b |\n| c | `z.w: { v }` | d |\n',
    )

    expect(columnsOf(page, /^Options?\b/).map(({ cells }) => cells)).toEqual([['`x`, `y`', '`z.w: { v }`']])
    expect(['order', 'lanes.order', 'lanes: { rate }', 'limit: f(n, { rate })'].flatMap(outermostIn)).toEqual(
      ['order', 'lanes', 'lanes', 'limit'],
    )
  })

  function pageOf(text: string): Page {
    return { path: 'docs/some.md', text, lines: text.split('\n') }
  }
})

describe('figures', () => {
  it('of mutants stand in their table alone', () => {
    const [, total] = / checks all (\d+) of them/.exec(readPage('test/mutants/README.md').text) ?? []
    const stated = written.flatMap((page) => figuresIn(page, /\b([\d,]+)(?: of [\d,]+)? mutants\b/g))

    expect(Number(total)).toBeGreaterThan(400)
    expect(stated.filter(({ figure }) => figure !== Number(total))).toEqual([])
  })

  it('of tests are what a run prints, so no page states them', () => {
    expect(written.flatMap((page) => figuresIn(page, /\b([\d,]{3,}) tests\b/g))).toEqual([])
  })

  it('of retries are those of the default policy', () => {
    const { onError, onTimeout, onLost } = DEFAULT_POLICY
    const known = [onError, onTimeout].map(
      (policy) => `${policy.retries} times over about ${hoursOf(policy)} hours`,
    )
    // "(it was …)" tells of an earlier version, and tables of the architecture of what was measured.
    const sentences = [...written, readPage('ARCHITECTURE.md'), readPage('CHANGELOG.md')].flatMap((page) =>
      paragraphsOf(page)
        .filter(({ line }) => page.path !== 'ARCHITECTURE.md' || !line.startsWith('|'))
        .flatMap(({ at, line }) =>
          line
            .replace(/\(it was [^)]*\)/g, '')
            .split(/(?<=[.:])\s/)
            .map((sentence) => ({ at, sentence })),
        ),
    )
    const stated = sentences
      .filter(({ sentence }) => /\b(?:retried|tried again|tries again|retries|times out)\b/.test(sentence))
      .flatMap(({ at, sentence }) =>
        [...sentence.matchAll(RETRY_FIGURE)].map(([figure]) => ({ at, figure: figure.replace(/\s+/g, ' ') })),
      )
    const cells = new Map(
      readPage('docs/handlers.md')
        .lines.filter((line) => line.startsWith('| `on'))
        .map(cellsOf)
        .map(([option, , usual]) => [option, usual]),
    )
    const declared = readFileSync(join(root, 'src/client/queues/queue.ts'), 'utf8')
    const started = readFileSync(join(root, 'src/cli/init/files.ts'), 'utf8')

    expect(stated.length).toBeGreaterThan(3)
    expect(stated.filter(({ figure }) => !known.includes(figure))).toEqual([])
    for (const [option, policy] of Object.entries({ onError, onTimeout, onLost })) {
      const { ms, kind } = policy.backoff
      const call = `retry(${policy.retries}, ${kind}(${kind === 'fixed' ? ms : `'${ms / 1_000}s', { max: '1h' }`}))`
      const hours = hoursOf(policy)
      expect(cells.get(`\`${option}\``)).toBe(
        hours === 0 ? `\`${call}\`` : `\`${call}\`: about ${hours} hours`,
      )
      expect(declared).toContain(hours === 0 ? `@default ${call}` : `@default ${call}, about ${hours} hours`)
      if (option === 'onError') expect(started).toContain(`${option}: ${call},`)
    }
  })

  it('of retries in the example of a queue are those of the default policy', () => {
    const card = EXAMPLES['queues.get'].output.card

    expect(card?.policy).toEqual(describePolicy({ ...DEFAULT_POLICY, timeoutMs: card?.timeoutMs ?? null }))
  })

  it.each([
    ['The job is tried again after 1 s, 2 s and so on, five times, and then it is dead.', 'five times'],
    ['A job that throws is retried 5 times.', '5 times'],
    ['It is retried 20 times over about 7 hours.', '20 times over about 7 hours'],
  ])('of retries are found in prose: %s', (sentence, figure) => {
    expect([...sentence.matchAll(RETRY_FIGURE)].map(([found]) => found)).toEqual([figure])
  })

  it('of takeovers are those of one table', () => {
    const guarantees = readPage('docs/guarantees.md')
    const start = guarantees.lines.indexOf('| Store | The process died | The store cannot tell |')
    const rows = guarantees.lines.slice(start + 2, start + 6).map(cellsOf)
    const source = Object.fromEntries(rows.map(([store, died]) => [store, secondsIn(died as string)]))
    const lines = [...written, readPage('ARCHITECTURE.md')].flatMap((page) =>
      proseOf(page)
        .filter(({ at }) => !isSource(guarantees, at, start))
        .filter(({ line }) => /\b(?:in|after) about \d+ s/.test(line)),
    )
    const ofStores = lines.filter(({ line }) => line.startsWith('| Jobs of a killed worker run again |'))
    // "About 15 seconds" is the time after which a bulk action goes on elsewhere.
    const others = lines.filter((one) => !ofStores.includes(one) && !one.line.includes('about 15 seconds'))

    expect(source).toEqual({ Memory: null, SQLite: 3, Postgres: 3, Redis: 5 })
    expect(ofStores.map(({ at }) => at.split(':')[0])).toEqual(['README.md', 'docs/stores.md'])
    for (const { at, line } of ofStores) {
      expect([at, ...cellsOf(line).slice(1).map(secondsIn)]).toEqual([at, ...Object.values(source)])
    }
    expect(others).toEqual([])
  })
})

/** How often something is tried, and over how long if that is said. */
const RETRY_FIGURE =
  /\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty) times\b(?: over about \d+ hours)?/g

/** How long all retries take, in whole hours. */
function hoursOf({ retries, backoff }: FailurePolicy): number {
  let ms = 0
  for (let failures = 1; failures <= (retries ?? 0); failures++) ms += backoffMs(backoff, failures, 0.5)
  return Math.round(ms / 3_600_000)
}

function isSource({ path }: Page, at: string, start: number): boolean {
  const [file, line] = at.split(':')
  return file === path && Number(line) > start && Number(line) <= start + 6
}

function secondsIn(cell: string): number | null {
  const seconds = /\babout (\d+) s\b/.exec(cell)?.[1]
  return seconds === undefined ? null : Number(seconds)
}

function figuresIn(page: Page, pattern: RegExp): { readonly at: string; readonly figure: number }[] {
  return proseOf(page).flatMap(({ at, line }) =>
    [...line.matchAll(pattern)].map(([, figure]) => ({
      at,
      figure: Number((figure as string).replaceAll(',', '')),
    })),
  )
}
