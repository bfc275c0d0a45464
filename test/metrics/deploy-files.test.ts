// The dashboard and the alert rules name metrics; one that does not exist would show nothing, and alert nobody.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/cli/command.ts'
import { Tally } from '../../src/metrics/counters.ts'
import { exposition } from '../../src/metrics/prometheus.ts'
import { parseExposition } from './support/exposition.ts'

const tally = new Tally()
tally.done = 1
const { families } = parseExposition(
  exposition({
    space: 'default',
    queues: [{ queue: 'mail', states: { ready: 1, running: 0, dead: 0 }, oldestMs: 0, unhandled: 1 }],
    rates: [{ queue: 'mail', enqueued: 1, done: 1, failed: 1, spark: [], failures: [] }],
    totals: new Map([['mail', tally]]),
    workers: [{ id: 'a', host: 'h', running: 0, concurrency: 1, lagMs: 1, paused: false, life: 'here' }],
    isNotifierUp: true,
    process: { memoryBytes: 1, cpuSeconds: 1, startSeconds: 1 },
  }),
)
const samples = [...families.values()].flatMap((family) => family.samples)
const names = new Set(samples.map(({ name }) => name))

/** Selectors in an expression: a metric, and the labels that it is asked by. */
function selectors(expression: string): { readonly name: string; readonly labels: readonly string[] }[] {
  return [...expression.matchAll(/\b((?:skep|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name, labels = '']) => ({
      name: name as string,
      labels: [...labels.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label as string),
    }),
  )
}

function read(path: string): string {
  return readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8')
}

const rules = read('prometheus/alerts.yml')
const dashboard = JSON.parse(read('grafana/skep.json')) as {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly expr: string }[]
  }[]
  readonly templating: { readonly list: readonly { readonly query: unknown }[] }
}

describe.each([
  ['the alert rules', rules.replace(/^\s*#.*$/gm, '')],
  ['the dashboard', JSON.stringify(dashboard.panels.map(({ targets }) => targets.map(({ expr }) => expr)))],
  ['the trigger of KEDA', read('helm/skep/templates/worker.yaml')],
  ['the variables of the dashboard', JSON.stringify(dashboard.templating.list.map(({ query }) => query))],
])('%s', (_what, text) => {
  it('name only metrics that there are, with labels that they have', () => {
    const found = selectors(text.replaceAll('\\"', '"'))

    expect(found.length).toBeGreaterThan(0)
    for (const { name, labels } of found) {
      expect(names).toContain(name)
      const known = samples
        .filter((sample) => sample.name === name)
        .flatMap((sample) => Object.keys(sample.labels))
      for (const label of labels) expect([name, known]).toEqual([name, expect.arrayContaining([label])])
    }
  })
})

describe('the alert rules', () => {
  it('warn of what can go wrong, each with words for a person', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)

    expect(alerts).toEqual(
      expect.arrayContaining([
        'SkepNoWorker',
        'SkepOldestWaitsLong',
        'SkepFailing',
        'SkepDeadGrowing',
        'SkepWorkerLagging',
      ]),
    )
    expect(rules.match(/summary: /g)).toHaveLength(alerts.length)
    expect(rules.match(/severity: /g)).toHaveLength(alerts.length)
  })
})

describe('the alert rules and the dashboard', () => {
  it('name commands that exist', async () => {
    const folder = new URL('../../src/cli/commands/', import.meta.url)
    const modules = await Promise.all(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map(async (name) => (await import(new URL(name, folder).href)) as Record<string, unknown>),
    )
    const commands = modules
      .flatMap((module) => Object.values(module))
      .filter((one): one is Command => typeof one === 'object' && one !== null && 'usage' in one)
    const named = [...(rules + JSON.stringify(dashboard)).matchAll(/`skep ([a-z]+)(?: ([a-z]+))?[^`]*`/g)]

    expect(named.length).toBeGreaterThan(3)
    for (const [text, name, action] of named) {
      const command = commands.find((one) => one.name === name)
      expect([text, command?.name]).toEqual([text, name])
      if (action !== undefined)
        expect([text, Object.keys(command?.actions ?? {})]).toEqual([text, expect.arrayContaining([action])])
    }
  })
})

describe('the dashboard', () => {
  it('has panels that do not lie on each other', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    )

    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })
})
