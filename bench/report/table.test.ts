import { describe, expect, it } from 'vitest'
import { behind, behindList } from './behind.ts'
import { PLACES } from './programme.ts'
import { rounds, sampleResult } from './sample.ts'
import { median, summarize } from './statistics.ts'
import { renderTable } from './table.ts'

describe('statistics', () => {
  it('take the middle, whatever the order', () => {
    expect(median([30, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 30])).toBe(3)
    expect(summarize([3, 1, 2])).toEqual({ median: 2, lowest: 1, highest: 3, rounds: 3 })
  })

  it('say that nothing was measured', () => {
    expect(summarize([])).toBeNull()
  })
})

describe('the table', () => {
  it('has a row for each contestant, the limit last, and below them how far Skep is', () => {
    const result = sampleResult([
      ...rounds(PLACES.enqueueCallers, 'raw Postgres', 100_000, 100_000, 100_000),
      ...rounds(PLACES.enqueueCallers, 'quick', 3_000, 2_000, 4_000),
      ...rounds(PLACES.enqueueCallers, 'Skep', 60_000, 50_000, 61_000),
      ...rounds(PLACES.enqueueOne, 'Skep', 12.34),
    ])

    expect(renderTable(result).split('\n')).toEqual([
      'Postgres: Enqueue, jobs/s',
      '',
      '|                               | one awaited |                100 callers |',
      '| ----------------------------- | ----------: | -------------------------: |',
      '| **Skep**                      |        12.3 |    60,000 (50,000..61,000) |',
      '| quick                         |           – |       3,000 (2,000..4,000) |',
      '| raw Postgres (limit)          |           – | 100,000 (100,000..100,000) |',
      '| *Skep against the best rival* |           – |                     20.0 × |',
      '| *Skep against the limit*      |           – |                       60 % |',
      '',
    ])
  })

  it('counts less time as better', () => {
    const result = sampleResult([...rounds(PLACES.idleP99, 'Skep', 4), ...rounds(PLACES.idleP99, 'quick', 2)])

    expect(renderTable(result)).toContain('0.50 ×')
  })

  it('shows that a round is missing', () => {
    const result = sampleResult([
      ...rounds(PLACES.drain, 'Skep', 1, 2, 3),
      ...rounds(PLACES.drain, 'quick', 1, 2),
    ])

    expect(renderTable(result)).toContain('1.50 (1.00..2.00) in 2 of 3')
  })

  it('leaves out no measure, and says why a figure is missing', () => {
    const result = sampleResult(rounds({ scenario: 'new', measure: 'things/s' }, 'Skep', 1), {
      notes: [{ scenario: 'new', contestant: 'quick', note: 'not within 100 s' }],
    })

    expect(renderTable(result)).toContain('things/s')
    expect(renderTable(result)).toContain('quick: not within 100 s.')
  })
})

describe('who cannot do what a scenario asks', () => {
  const figures = [
    ...rounds(PLACES.lanes10, 'Skep', 9),
    ...rounds({ scenario: 'lanes-10', measure: 'database CPU us/job' }, 'Skep', 7),
  ]
  const notes = ['quick', 'elsewhere'].map((contestant) => ({
    scenario: 'lanes-10',
    contestant,
    note: 'cannot: it has no lanes or groups',
  }))

  it('has a row with a dash, and the reason below', () => {
    const lines = renderTable(sampleResult(figures, { notes })).split('\n')

    expect(lines).toContain('| quick    |        – |')
    expect(lines.filter((line) => line.startsWith('quick: cannot'))).toHaveLength(1)
  })

  it('is told of where nobody on a store can', () => {
    const text = renderTable(sampleResult(figures, { notes }))

    expect(text).toContain('Redis: Drain of 100k no-op jobs in lanes, jobs/s\n\nelsewhere: cannot')
    expect(text.match(/Redis:/g)).toHaveLength(1)
  })
})

describe('the list of what Skep is behind in', () => {
  it('has rates that are lower and times that are higher, and nothing else', () => {
    const result = sampleResult([
      ...rounds(PLACES.drain, 'Skep', 100),
      ...rounds(PLACES.drain, 'quick', 200),
      ...rounds(PLACES.idleP50, 'Skep', 3, 4, 5),
      ...rounds(PLACES.idleP50, 'quick', 2, 2, 3),
      ...rounds(PLACES.idleP99, 'Skep', 4),
      ...rounds(PLACES.idleP99, 'quick', 9),
      ...rounds(PLACES.slowDone, 'Skep', 999),
      ...rounds(PLACES.slowDone, 'quick', 1_000),
      ...rounds(PLACES.killed, 'quick', 30),
    ])

    expect(behindList(behind(result)).split('\n')).toEqual([
      '- drain, 1 process: jobs/s. quick on Postgres: 200. Skep on Postgres: 100. The rival is better by 2.00 ×.',
      '- idle latency: p50 ms. quick on Postgres: 2.00. Skep on Postgres: 4.00. The rival is better by 2.00 ×, within the spread of the rounds.',
      '- killed: seconds. quick on Postgres: 30.0. Skep on Postgres: not measured.',
    ])
  })

  it('counts the rivals on the same store alone', () => {
    const result = sampleResult([
      ...rounds(PLACES.drain, 'Skep', 100),
      ...rounds(PLACES.drain, 'elsewhere', 200),
    ])

    expect(behind(result)).toEqual([])
  })
})
