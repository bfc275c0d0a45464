// Every TypeScript block of the documents for users is compiled. A block that begins with ```ts run is also run, in an empty
// folder; if a block ```text output follows it, that is what it must print. ```ts run postgres gets a new database in
// DATABASE_URL, and ```ts run redis a new server in REDIS_URL, ```ts run nats in
// NATS_URL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Block, blocksOf, nextTo, pages, programOf } from './markdown.ts'
import { serversFor } from './servers-for.ts'
import { openWorkshop, type Workshop } from './workshop.ts'

const blocks = pages()
  .filter(({ path }) => path !== 'CONTRIBUTING.md') // It shows lines of our own tests, not programs of users.
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'ts')
const pathOf = ({ page, line }: Block): string => `${page.path}.${line + 1}.ts`

/** The index, and pages about how Skep is tested and measured. */
const WITHOUT_PROGRAMS = ['docs/README.md', 'docs/benchmarks.md', 'docs/guarantees.md']

describe('snippets', () => {
  let workshop: Workshop

  beforeAll(async () => {
    workshop = await openWorkshop(blocks.map((block) => ({ path: pathOf(block), text: programOf(block) })))
  })
  afterAll(() => workshop.close())

  it('compile', () => {
    expect(workshop.faults).toEqual([])
  })

  for (const block of blocks.filter(({ words }) => words.includes('run'))) {
    it(`${block.page.path}:${block.line + 1} runs`, async () => {
      const servers = await serversFor({
        postgres: block.words.includes('postgres'),
        redis: block.words.includes('redis'),
        nats: block.words.includes('nats'),
      })
      try {
        const outcome = await workshop.run(pathOf(block), servers.env)

        const next = nextTo(block)
        const expected = next?.words.includes('output') ? `${next.lines.join('\n')}\n` : outcome.stdout
        expect(outcome).toMatchObject({ code: 0, stdout: expected })
      } finally {
        await servers.stop()
      }
    })
  }

  it('are run on every page of docs', () => {
    const silent = pages()
      .filter(({ path }) => path.startsWith('docs/') && !WITHOUT_PROGRAMS.includes(path))
      .filter((page) => !blocks.some((block) => block.page.path === page.path && block.words.includes('run')))
    expect(silent.map(({ path }) => path)).toEqual([])
  })
})
