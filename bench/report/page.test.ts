import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { chartsOf } from './charts.ts'
import { mergeResults, runsOf } from './merge.ts'
import { PAGES, resultsParts, rewritePage, summaryParts } from './page.ts'
import { PINNED_SERIES, PLACES } from './programme.ts'
import { publish, readResult } from './published.ts'
import { rounds, SAMPLE_ENTRANTS, sampleResult } from './sample.ts'
import { scaleFor } from './scale.ts'

const whole = sampleResult(
  [
    ...rounds(PLACES.enqueueCallers, 'Skep', 50_000, 60_000, 70_000),
    ...rounds(PLACES.enqueueCallers, 'slow & steady', 1_000, 2_000, 3_000),
    ...rounds(PLACES.idleP99, 'Skep', 2),
    ...rounds(PLACES.idleP99, 'slow & steady', 2_000),
  ],
  {
    series: [
      {
        ...PINNED_SERIES,
        contestant: 'Skep',
        points: [
          [30, 2],
          [60, 2.5],
        ],
      },
      {
        ...PINNED_SERIES,
        contestant: 'slow & steady',
        points: [
          [30, 2],
          [60, 500],
        ],
      },
    ],
    notes: [],
  },
)

describe('merging', () => {
  it('takes what a contestant did in a scenario from the last run', () => {
    const later = sampleResult(rounds(PLACES.idleP99, 'Skep', 1, 1), { at: '2026-02-02T00:00:00.000Z' })

    const merged = mergeResults([whole, later])

    const values = merged.figures.filter(
      (figure) => figure.scenario === 'idle latency' && figure.contestant === 'Skep',
    )
    expect(values.map(({ value }) => value)).toEqual([1, 1])
    expect(merged.figures).toHaveLength(6 + 1 + 2)
    expect(merged.series).toEqual(whole.series)
    expect(runsOf(merged)).toEqual([whole.at, later.at])
  })

  it('knows a machine on which another server ran', () => {
    const on = (os: string) => sampleResult([], { machine: { ...whole.machine, os } })

    expect(mergeResults([on('none; Redis 7'), on('none; PostgreSQL 15')]).machine.os).toBe(
      'none; Redis 7; PostgreSQL 15',
    )
    expect(() => mergeResults([on('none; Redis 7'), on('none; Redis 8')])).toThrow('different servers')
  })

  it('refuses runs that cannot stand side by side', () => {
    const machine = { ...whole.machine, cpus: 64 }
    const contestants = SAMPLE_ENTRANTS.map((entrant) => ({ ...entrant, version: '2.0.0' }))

    expect(() => mergeResults([])).toThrow('no result')
    expect(() => mergeResults([whole, sampleResult([], { machine })])).toThrow('different machines')
    expect(() => mergeResults([whole, sampleResult([], { quick: true })])).toThrow('only one is quick')
    expect(() => mergeResults([whole, sampleResult([], { contestants })])).toThrow('Skep is not the same')
  })
})

describe('the published file', () => {
  it('gives back what was put into it', () => {
    expect(readResult(publish(whole))).toEqual(whole)
    expect(readResult(JSON.stringify(whole))).toEqual(whole)
  })

  it('keeps the place of a round without a value', () => {
    const figures = rounds(PLACES.killed, 'Skep', 1, 2, 3).filter(({ round }) => round !== 2)

    expect(readResult(publish(sampleResult(figures))).figures).toEqual(figures)
  })
})

describe('the pages', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const published = readResult(read('bench/results/results.json'))

  it.each([
    [PAGES.summary, summaryParts(whole, chartsOf(whole))],
    [PAGES.results, resultsParts(whole)],
  ])('%s has a place for every part', (path, parts) => {
    const page = read(path)

    const written = rewritePage(page, parts)

    expect(written).not.toContain('Not measured yet.')
    // Writing it again changes nothing.
    expect(rewritePage(written, parts)).toBe(written)
    const places = [...page.matchAll(/bench:begin (\w+)/g)].map(([, name]) => name)
    expect(new Set(places)).toEqual(new Set(Object.keys(parts)))
  })

  it.each([
    [PAGES.summary, summaryParts(published, chartsOf(published))],
    [PAGES.results, resultsParts(published)],
  ])('%s shows the published figures', (path, parts) => {
    expect(rewritePage(read(path), parts)).toBe(read(path))
  })

  it('refuse a part that has no place', () => {
    expect(() => rewritePage('# Nothing', { tables: '' })).toThrow('no place for "tables"')
  })

  it('list the measures in which a rival is ahead', () => {
    const slower = sampleResult([...rounds(PLACES.idleP50, 'Skep', 3), ...rounds(PLACES.idleP50, 'quick', 2)])

    expect(summaryParts(slower, []).behind).toBe(
      '- **Postgres:** Idle latency, p50 (quick, 1.50 ×).\n- **Redis:** none of the measures above.',
    )
  })
})

describe('charts', () => {
  it('are made of what was measured alone', () => {
    expect(chartsOf(whole).map(({ name }) => name)).toEqual([
      'enqueue-postgres',
      'idle-postgres',
      'pinned-postgres',
    ])
  })

  it('are well-formed, whatever the names', () => {
    for (const { svg } of chartsOf(whole)) {
      expect(svg).toContain('slow &amp; steady')
      expect(svg).not.toMatch(/NaN|Infinity|undefined/)
      expect(svg.match(/<text /g)?.length).toBe(svg.match(/<\/text>/g)?.length)
    }
  })

  it('turn to a logarithmic scale for times far apart, never for rates', () => {
    const [enqueue, idle] = chartsOf(whole)

    expect(enqueue?.svg).not.toContain('logarithmic')
    expect(idle?.svg).toContain('logarithmic')
  })

  it('place values between the ends of their scale', () => {
    const linear = scaleFor([0, 87], 100, 200, false)
    const logarithmic = scaleFor([0.5, 4_000], 100, 200, true)

    expect(linear.ticks).toEqual([0, 50, 100])
    expect(linear.at(50)).toBe(150)
    expect(logarithmic.ticks).toEqual([0.1, 1, 10, 100, 1_000, 10_000])
    expect(logarithmic.at(0)).toBe(100)
  })
})
