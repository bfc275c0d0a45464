// Every example is compiled and run to its end, and prints what its last comment says: the lines after `// Prints:`.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from './markdown.ts'
import { serversFor } from './servers-for.ts'
import { openWorkshop, type Program, type Workshop } from './workshop.ts'

const programs: readonly Program[] = readdirSync(join(root, 'examples'))
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map((name) => ({ path: `examples/${name}`, text: readFileSync(join(root, 'examples', name), 'utf8') }))

function promised({ text }: Program): string {
  const [, comment] = text.split('\n// Prints:\n')
  if (comment === undefined) throw new Error('An example ends with a comment "// Prints:".')
  return comment.replaceAll(/^\/\/ ? ?/gm, '')
}

describe('examples', () => {
  let workshop: Workshop

  beforeAll(async () => {
    workshop = await openWorkshop(programs)
  })
  afterAll(() => workshop.close())

  it('compile', () => {
    expect(workshop.faults).toEqual([])
  })

  for (const program of programs) {
    it(`${program.path} prints what it says`, async () => {
      const servers = await serversFor({
        postgres: program.text.includes('DATABASE_URL'),
        redis: program.text.includes('REDIS_URL'),
        nats: program.text.includes('NATS_URL'),
      })
      try {
        const outcome = await workshop.run(program.path, servers.env)

        expect(outcome).toMatchObject({ code: 0, stdout: promised(program) })
      } finally {
        await servers.stop()
      }
    })

    it(`${program.path} has fewer than 60 lines`, () => {
      expect(program.text.split('\n').length).toBeLessThan(60)
    })
  }
})
