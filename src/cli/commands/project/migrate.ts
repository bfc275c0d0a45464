import type { Call, Command } from '../../command.ts'
import { using } from '../../connect/open.ts'
import { EXIT, usage } from '../../exit.ts'
import { explain } from '../../explain-error.ts'
import { Progress } from '../../format/progress.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Migrate the tables, or show pending migrations',
  asksNoServer: true,
  usage: ['migrate [up|status|sql] [--dry-run]'],
  actions: {
    up: 'Create or update the tables',
    status: 'Tell whether they are up to date (exit code 1 if not)',
    sql: 'Print the SQL for PostgreSQL, for those who run it themselves',
  },
  flags: {
    'dry-run': { kind: 'switch', help: 'With up: the same as status' },
    app: { kind: 'text', value: 'role', help: 'With sql: also the grants of the application role' },
    reader: { kind: 'text', value: 'role', help: 'With sql: also the grants of a read-only role' },
  },
  examples: [
    'skep migrate --db postgres://localhost/shop',
    'skep migrate sql --schema jobs --app shop > skep.sql',
  ],

  async run(call) {
    const [action = 'up', ...rest] = call.args.words
    if (rest[0] !== undefined) throw usage(`skep migrate ${action} takes nothing more.`)
    if (action === 'sql') return printSql(call)
    if (action === 'status' || call.args.on('dry-run')) return status(call)
    return up(call)
  },
}

async function up(call: Call): Promise<number> {
  const { out } = call
  return using(call, { create: true }, async ({ skep, place }) => {
    const { applied } = await new Progress(out, 'Migrating').during(skep.migrate())
    if (out.json) out.object({ store: place.label, applied })
    else if (applied.length === 0) out.note(`${place.label} is up to date.`)
    else out.data(applied.map((id) => `${out.paint('green', 'applied')} ${id}`).join('\n'))
    return EXIT.ok
  })
}

async function status(call: Call): Promise<number> {
  const { out } = call
  return using(call, { create: false }, async ({ skep, place }) => {
    let code = 'UP_TO_DATE'
    let message = `${place.label} is up to date.`
    try {
      await skep.ready()
    } catch (error) {
      const report = explain(error, place.label)
      if (!report.code.startsWith('SCHEMA_')) throw error
      code = report.code
      message = `${report.message}${report.fix === undefined ? '' : ` ${report.fix}`}`
    }
    const isCurrent = code === 'UP_TO_DATE'
    if (out.json) out.object({ store: place.label, upToDate: isCurrent, code, message })
    else out.data(`${isCurrent ? out.paint('green', 'ok  ') : out.paint('red', 'fail')} ${message}`)
    return isCurrent ? EXIT.ok : EXIT.failure
  })
}

/** Recommends separate roles for migrations and for the application. */
const ROLES = `-- Run this as the role that owns the tables. The application needs less: --app <role> prints what, and --reader <role> the same
-- for one that only looks. Run these again after each migration.`

/** Needs no database, so it opens none. */
async function printSql({ args, out }: Call): Promise<number> {
  const schema = args.text('schema')
  const [app, reader] = [args.text('app'), args.text('reader')]
  const { grantSql, migrationSql } = await import('../../../postgres.ts')
  const where = schema === undefined ? {} : { schema }
  const sql = [
    migrationSql(where).trimEnd(),
    ...(app === undefined ? [] : [grantSql({ ...where, role: app }).trimEnd()]),
    ...(reader === undefined ? [] : [grantSql({ ...where, role: reader, access: 'read' }).trimEnd()]),
    ...(app === undefined && reader === undefined ? [ROLES] : []),
  ].join('\n\n')
  if (out.json) out.object({ sql })
  else out.data(sql.trimEnd())
  return EXIT.ok
}
