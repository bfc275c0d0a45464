import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { silentLogger } from '../../../index.ts'
import type { Call, Command } from '../../command.ts'
import { CliError, EXIT, usage } from '../../exit.ts'
import { briefly } from '../../explain-error.ts'
import { clean, quote, safeJson } from '../../format/text.ts'
import { ownFolder } from '../../version.ts'

export const openapiCommand: Command = {
  name: 'openapi',
  summary: 'Print the description of the HTTP API (OpenAPI 3.1)',
  usage: ['openapi'],
  asksNoServer: true,
  flags: {},
  examples: ['skep openapi > openapi.json'],

  async run(call) {
    refuseWords(call, 'openapi')
    const { createServer, openApiOf } = await import('../../../server.ts')
    const { memoryStore } = await import('../../../memory.ts')
    // It is never opened: it only knows what it would answer to.
    const server = createServer({ store: memoryStore(), logger: silentLogger }, { bulk: false })
    call.out.data(safeJson(openApiOf(server.core.routes()), 2))
    await server.close()
    return EXIT.ok
  },
}

export const protoCommand: Command = {
  name: 'proto',
  summary: 'Print or write the .proto files of the gRPC API',
  asksNoServer: true,
  usage: ['proto [--out <folder>]'],
  flags: {
    out: { kind: 'text', value: 'folder', help: 'Write the files to this folder, in folders by package' },
  },
  examples: ['skep proto > skep.proto', 'skep proto --out proto'],

  async run(call) {
    refuseWords(call, 'proto')
    const { args, cwd, out } = call
    const folder = join(ownFolder(), 'proto')
    if (!existsSync(folder)) {
      throw new CliError('NOT_FOUND', 'The .proto files are not beside the command.', {
        exitCode: EXIT.notFound,
        fix: 'Install the package skep as it is; a bundle does not have them.',
      })
    }
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.proto'))
      .sort()
    const target = args.text('out')
    if (target === undefined) {
      const [main = ''] = [...files.filter((name) => name.endsWith('skep.proto')), ...files]
      out.data(readFileSync(join(folder, main), 'utf8').trimEnd())
      const others = files.filter((name) => name !== main)
      if (others.length > 0) {
        out.note(out.paintNote('dim', `There is also ${others.join(', ')}: skep proto --out <folder>`))
      }
      return EXIT.ok
    }
    const to = resolve(cwd, target)
    try {
      mkdirSync(to, { recursive: true })
      for (const name of files) cpSync(join(folder, name), join(to, name))
    } catch (cause) {
      throw usage(`The files cannot be written to ${quote(target)}: ${briefly(cause)}`)
    }
    const written = files.map((name) => clean(relative(cwd, join(to, name))))
    if (out.json) out.object({ files: written })
    else out.data(written.join('\n'))
    return EXIT.ok
  },
}

function refuseWords({ args }: Call, name: string): void {
  const [word] = args.words
  if (word !== undefined) throw usage(`${quote(word)} is an unexpected argument.`, `skep ${name}`)
}
