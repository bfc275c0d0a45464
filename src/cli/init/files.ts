import { DRIVERS, type Framework, type Project } from './project.ts'

/** A file that is to be written, if it is not there. */
export interface Draft {
  readonly name: string
  readonly text: string
}

/** What a project gets: its first jobs, and where they are kept. */
export function draftsFor(project: Project): readonly Draft[] {
  const end = project.isTypeScript ? (project.isModule || project.manifest === null ? 'ts' : 'mts') : 'mjs'
  const jobs = `jobs.${end}`
  return [
    { name: jobs, text: jobsText(project) },
    { name: `skep.config.${end}`, text: configText(project, jobs) },
  ]
}

function jobsText({ isTypeScript }: Project): string {
  const [queueType, nothing] = isTypeScript
    ? ['<{ to: string; subject: string }, { sentAt: string }>', '']
    : ['', '/** @type {import("skep").Queue<{ to: string, subject: string }, { sentAt: string }>} */\n']
  return `import { exponential, queue, retry } from 'skep'

${nothing}export const sendMail = queue${queueType}('mail.send', {
  timeout: '30s',
  onError: retry(20, exponential('1s', { max: '1h' })),
})

// The return value is the result. Errors are retried according to onError.
export const sendMailHandler = sendMail.handle(async ({ payload, log }) => {
  log.info(\`Sending "\${payload.subject}" to \${payload.to}\`)
  return { sentAt: new Date().toISOString() }
})
`
}

function configText(project: Project, jobs: string): string {
  const { imports, store } = storeText(project)
  return `import { defineConfig } from 'skep'
${imports}import { sendMailHandler } from './${jobs}'

export default defineConfig({
  store: () => ${store},
  handlers: [sendMailHandler],
  worker: { concurrency: 10 },
})
`
}

function storeText({ driver }: Project): { readonly imports: string; readonly store: string } {
  const kind = driver === null ? 'sqlite' : DRIVERS[driver][1]
  if (kind === 'postgres') {
    return {
      imports: "import { postgresStore } from 'skep/postgres'\nimport { sqliteStore } from 'skep/sqlite'\n",
      store: byAddress('DATABASE_URL', 'postgresStore({ url })'),
    }
  }
  if (kind === 'redis') {
    return {
      imports: "import { redisStore } from 'skep/redis'\nimport { sqliteStore } from 'skep/sqlite'\n",
      store: byAddress('REDIS_URL', 'redisStore({ url })'),
    }
  }
  return {
    imports: "import { sqliteStore } from 'skep/sqlite'\n",
    store: "sqliteStore({ file: 'jobs.db' })",
  }
}

/** Without an address it works on a file, so that a laptop needs no server. */
function byAddress(variable: string, store: string): string {
  return `{
    const url = process.env['${variable}']
    return url ? ${store} : sqliteStore({ file: 'jobs.db' })
  }`
}

/** Scripts that a project has not yet. */
export function scriptsFor({ scripts }: Project): Readonly<Record<string, string>> {
  const wanted = { 'jobs:dev': 'skep dev', 'jobs:worker': 'skep worker' }
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => !(name in scripts)))
}

/** package.json with more scripts; everything else stays as it is, also how it is indented. */
export function withScripts(manifest: string, added: Readonly<Record<string, string>>): string {
  const indent = /^([ \t]+)"/m.exec(manifest)?.[1] ?? '  '
  const parsed = JSON.parse(manifest) as { scripts?: Record<string, string> }
  parsed.scripts = { ...parsed.scripts, ...added }
  return `${JSON.stringify(parsed, null, indent)}\n`
}

/** The start of the package.json of a new project. */
export function newManifest(added: Readonly<Record<string, string>>): string {
  return `${JSON.stringify({ private: true, type: 'module', scripts: added }, null, 2)}\n`
}

const MOUNT = "createSkep({ store: sqliteStore({ file: 'jobs.db' }) })"

/** How the dashboard is mounted in the project's own server: to be copied, because only its author knows where. */
export function mountText(framework: Framework): string {
  const handler = `const handler = skepHandler(skep) // skep = ${MOUNT}`
  switch (framework) {
    case 'next':
      return `// app/admin/jobs/[[...path]]/route.ts
import { skepHandler, toNext } from 'skep/server'
import { skep } from '@/skep' // ${MOUNT}
export const { GET, POST, PUT, DELETE } = toNext(skepHandler(skep))`
    case 'fastify':
      return `import { skepHandler, toFastify } from 'skep/server'
${handler}
await app.register(toFastify(handler), { prefix: '/admin/jobs' })`
    case 'hono':
      return `import { skepHandler, toHono } from 'skep/server'
${handler}
app.all('/admin/jobs/*', toHono(handler))`
    case 'koa':
      return `import { skepHandler, toKoa } from 'skep/server'
${handler}
app.use(toKoa(handler, '/admin/jobs'))`
    case 'express':
    case '@nestjs/core':
      return `import { skepHandler, toNode } from 'skep/server'
${handler}
app.use('/admin/jobs', toNode(handler))`
  }
}
