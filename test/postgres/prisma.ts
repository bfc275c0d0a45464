// Clients of Prisma as users have them: generated from a schema, without its command line, which would want to download
// programs that such a client does not use.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** The packages of one major version. */
export const PRISMA = {
  6: { client: 'prisma6-client', adapter: 'prisma6-adapter-pg', generator: 'prisma6-generator' },
  7: {
    client: '@prisma/client',
    adapter: '@prisma/adapter-pg',
    generator: '@prisma/client-generator-ts',
  },
} as const

/** The part of a generated client that the tests use. */
export interface PrismaClient {
  $transaction<T>(run: (tx: PrismaTransaction) => Promise<T>): Promise<T>
  $extends(extension: object): PrismaClient
  $disconnect(): Promise<void>
  readonly account: {
    create(args: { data: { name: string } }): Promise<unknown>
    count(args?: { where?: { name: string } }): Promise<number>
  }
}

export type PrismaTransaction = Pick<PrismaClient, 'account'> & Partial<Pick<PrismaClient, '$transaction'>>

export interface GeneratedPrisma {
  readonly version: string
  open(connectionString: string): PrismaClient
  remove(): void
}

// Since version 7 the address is not in the schema any more.
const schemaOf = (major: keyof typeof PRISMA, output: string): string => `
generator client {
  provider   = "prisma-client"
  output     = ${JSON.stringify(output)}
  engineType = "client"
}
datasource db {
  provider = "postgresql"
  ${major === 6 ? 'url = env("DATABASE_URL")' : ''}
}
model Account {
  id   Int    @id @default(autoincrement())
  name String
}
`

/** Generates a client in a folder of its own. The database needs a table "Account". */
export async function generatePrisma(major: keyof typeof PRISMA): Promise<GeneratedPrisma> {
  const packages = PRISMA[major]
  const folder = mkdtempSync(join(tmpdir(), 'skep-prisma-'))
  const output = join(folder, 'generated')
  const path = join(folder, 'schema.prisma')
  const datamodel = schemaOf(major, output)
  mkdirSync(output)
  writeFileSync(path, datamodel)

  const require = createRequire(join(modules, packages.generator, 'package.json'))
  const { PrismaClientTsGenerator } = require(join(modules, packages.generator))
  const { getConfig, getDMMF } = require('@prisma/internals')
  const files = [[path, datamodel]]
  const config = await getConfig({ datamodel: files, ignoreEnvVarErrors: true })
  await new PrismaClientTsGenerator().generate({
    generator: { ...config.generators[0], output: { value: output, fromEnvVar: null } },
    otherGenerators: [],
    datasources: config.datasources,
    dmmf: await getDMMF({ datamodel: files }),
    schemaPath: path,
    datamodel,
    version: require('@prisma/engines-version').enginesVersion,
    binaryPaths: {},
  })

  writeFileSync(
    join(folder, 'entry.ts'),
    `export { PrismaClient, Prisma } from './generated/client.ts'\nexport { PrismaPg } from '${packages.adapter}'\n`,
  )
  const build = await rolldown({
    input: join(folder, 'entry.ts'),
    platform: 'node',
    resolve: { modules: [modules, 'node_modules'], alias: { '@prisma/client': packages.client } },
    logLevel: 'silent',
  })
  const file = join(folder, 'client.mjs')
  try {
    await build.write({ file, format: 'esm', codeSplitting: false })
  } finally {
    await build.close()
  }
  const { PrismaClient, PrismaPg, Prisma } = await import(pathToFileURL(file).href)
  return {
    version: Prisma.prismaVersion.client,
    open: (connectionString) => new PrismaClient({ adapter: new PrismaPg({ connectionString }) }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** What a migration of this schema would make. */
export const ACCOUNTS = 'create table if not exists "Account" (id serial primary key, name text not null)'
