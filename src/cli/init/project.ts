import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { invalid } from '../connect/config-file.ts'
import { briefly } from '../explain-error.ts'

export const FRAMEWORKS = {
  next: 'Next.js',
  '@nestjs/core': 'NestJS',
  express: 'Express',
  fastify: 'Fastify',
  hono: 'Hono',
  koa: 'Koa',
} as const
export type Framework = keyof typeof FRAMEWORKS

/** What brings a database, and which store fits it. The first that is found decides. */
export const DRIVERS = {
  'drizzle-orm': ['Drizzle', 'postgres'],
  '@prisma/client': ['Prisma', 'postgres'],
  kysely: ['Kysely', 'postgres'],
  knex: ['Knex', 'postgres'],
  typeorm: ['TypeORM', 'postgres'],
  '@mikro-orm/core': ['MikroORM', 'postgres'],
  sequelize: ['Sequelize', 'postgres'],
  pg: ['pg', 'postgres'],
  postgres: ['postgres.js', 'postgres'],
  ioredis: ['ioredis', 'redis'],
} as const
export type Driver = keyof typeof DRIVERS

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** A user's project, as far as it matters here. */
export interface Project {
  readonly folder: string
  /** The text of its package.json; null: it has none. */
  readonly manifest: string | null
  readonly packageManager: PackageManager
  readonly isTypeScript: boolean
  /** Whether its `.js` files are ES modules. */
  readonly isModule: boolean
  readonly framework: Framework | null
  readonly driver: Driver | null
  /** Everything that it depends on. */
  readonly packages: ReadonlySet<string>
  readonly scripts: Readonly<Record<string, string>>
}

interface Manifest {
  readonly type?: string
  readonly packageManager?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Looks at a folder. It changes nothing and runs nothing. */
export function lookAt(folder: string): Project {
  const path = join(folder, 'package.json')
  const manifest = existsSync(path) ? readFileSync(path, 'utf8') : null
  const parsed = manifest === null ? {} : parse(manifest)
  const packages = new Set(Object.keys({ ...parsed.dependencies, ...parsed.devDependencies }))
  const first = <Name extends string>(names: Readonly<Record<Name, unknown>>): Name | null =>
    (Object.keys(names) as Name[]).find((name) => packages.has(name)) ?? null
  return {
    folder,
    manifest,
    packageManager: managerOf(folder, parsed.packageManager),
    // An empty folder is a new project, and those are in TypeScript.
    isTypeScript:
      manifest === null || packages.has('typescript') || existsSync(join(folder, 'tsconfig.json')),
    isModule: parsed.type === 'module',
    framework: first(FRAMEWORKS),
    driver: first(DRIVERS),
    packages,
    scripts: parsed.scripts ?? {},
  }
}

function parse(text: string): Manifest {
  try {
    return JSON.parse(text) as Manifest
  } catch (error) {
    throw invalid(`package.json cannot be read: ${briefly(error)}`, 'Correct it, then run skep init again.')
  }
}

const LOCKS = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
} as const

/** As the project says, else by its lock file, also of a workspace above it. */
function managerOf(folder: string, said: string | undefined): PackageManager {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(said ?? '')?.[1]
  if (named !== undefined) return named as PackageManager
  for (let at = folder; ; at = dirname(at)) {
    const lock = Object.entries(LOCKS).find(([name]) => existsSync(join(at, name)))
    if (lock !== undefined) return lock[1]
    if (dirname(at) === at) return 'npm'
  }
}
