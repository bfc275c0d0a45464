/**
 * What users hand over as `tx`: a transaction they began with their own client or ORM. Each kind is known by its shape,
 * so that none of these libraries is needed here. A thing that looks right but is not inside a transaction (a pool, the
 * database itself) is refused: the job would be there although the user's transaction rolls back.
 */
import { SkepError } from '../../../core/errors.ts'
import type { Param, Query, Row } from './driver.ts'

/** A function that runs SQL inside the transaction: for everything we do not know. */
export type RunInTransaction = (sql: string, params: readonly (string | null)[]) => Promise<readonly object[]>

type Method = (...args: unknown[]) => unknown
type Shape = Readonly<Record<string, unknown>>

/** How to run statements in this transaction. Throws `TX_UNSUPPORTED` for anything else. */
export function queryOf(tx: unknown): Query {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) throw unsupported(`a ${typeof tx}`)
  const shape = tx as Shape
  for (const adapt of [postgresJs, knex, prisma, drizzle, kysely, mikroOrm, sequelize, queryMethod]) {
    const run = adapt(shape)
    if (run) return async (text, params) => toRows(await run(text, params))
  }
  if (typeof tx === 'function') {
    return async (text, params) => toRows(await (tx as RunInTransaction)(text, params))
  }
  throw unsupported('an object')
}

type Run = (text: string, params: readonly Param[]) => unknown

/** `sql` inside `sql.begin(sql => …)`. */
function postgresJs(tx: Shape): Run | undefined {
  if (!has(tx, 'unsafe') || typeof tx !== 'function') return undefined
  if (!has(tx, 'savepoint')) throw outside('a postgres.js instance', 'sql.begin(sql => …)')
  return (text, params) => method(tx, 'unsafe')(text, [...params])
}

/** `trx` of Knex. */
function knex(tx: Shape): Run | undefined {
  if (!has(tx, 'raw') || typeof tx !== 'function') return undefined
  if (tx['isTransaction'] !== true) throw outside('a Knex instance', 'knex.transaction(trx => …)')
  // It counts question marks, and our statements hold none of their own.
  return (text, params) => method(tx, 'raw')(text.replace(/\$\d+/g, '?'), inOrder(text, params))
}

/** The client inside Prisma's `$transaction(tx => …)`. Only one outside can connect; since 7.5 both have `$transaction`. */
function prisma(tx: Shape): Run | undefined {
  if (!has(tx, '$queryRawUnsafe')) return undefined
  if (has(tx, '$connect')) throw outside('a PrismaClient', 'prisma.$transaction(tx => …)')
  return (text, params) => method(tx, '$queryRawUnsafe')(text, ...params)
}

/** `tx` of Drizzle. It asks what it executes for its SQL, so an object that answers that will do. */
function drizzle(tx: Shape): Run | undefined {
  if (!has(tx, 'execute') || !has(tx, 'select') || !('dialect' in tx)) return undefined
  if (!has(tx, 'rollback')) throw outside('a Drizzle database', 'db.transaction(tx => …)')
  return (text, params) => {
    const sql = { getSQL: () => sql, toQuery: () => ({ sql: text, params: [...params] }) }
    return method(tx, 'execute')(sql)
  }
}

/** `trx` of Kysely: given a query that is already compiled. */
function kysely(tx: Shape): Run | undefined {
  if (!has(tx, 'executeQuery')) return undefined
  if (tx['isTransaction'] !== true) throw outside('a Kysely instance', 'db.transaction().execute(trx => …)')
  return (text, params) =>
    method(
      tx,
      'executeQuery',
    )({
      sql: text,
      parameters: [...params],
      query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
      queryId: { queryId: 'skep' },
    })
}

/** The EntityManager inside MikroORM's `em.transactional(em => …)`; its context is a transaction of another library. */
function mikroOrm(tx: Shape): Run | undefined {
  if (!has(tx, 'getTransactionContext')) return undefined
  const context = method(tx, 'getTransactionContext')()
  if (!context) throw outside('an EntityManager', 'em.transactional(em => …)')
  return knex(context as Shape) ?? kysely(context as Shape)
}

/** A transaction of Sequelize. */
function sequelize(tx: Shape): Run | undefined {
  const owner = tx['sequelize'] as Shape | undefined
  if (!owner || !has(owner, 'query') || !has(tx, 'commit')) return undefined
  return (text, params) =>
    method(owner, 'query')(text, { bind: [...params], transaction: tx, type: 'SELECT', raw: true })
}

/** A `pg` client between BEGIN and COMMIT; an EntityManager or a QueryRunner of TypeORM. */
function queryMethod(tx: Shape): Run | undefined {
  if (!has(tx, 'query')) return undefined
  if ('idleCount' in tx) throw outside('a pg.Pool', 'a client from pool.connect(), after BEGIN')
  if (has(tx, 'getQueryInterface')) throw outside('a Sequelize instance', 'sequelize.transaction(tx => …)')
  if (has(tx, 'createQueryRunner')) throw outside('a DataSource', 'dataSource.transaction(manager => …)')
  const isManager = has(tx, 'getRepository')
  const runner = (isManager ? tx['queryRunner'] : tx) as Shape | undefined
  if (isManager && !runner) throw outside('an EntityManager', 'dataSource.transaction(manager => …)')
  if (runner?.['isTransactionActive'] === false) throw outside('a QueryRunner', 'it after startTransaction()')
  return (text, params) => method(tx, 'query')(text, [...params])
}

function has(tx: Shape, name: string): boolean {
  return typeof tx[name] === 'function'
}

function method(tx: Shape, name: string): Method {
  return (tx[name] as Method).bind(tx)
}

/** The parameters in the order in which they occur. */
function inOrder(text: string, params: readonly Param[]): Param[] {
  return Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => params[Number(number) - 1] ?? null)
}

/** Libraries give an array of objects, or an object that has one as `rows`. */
function toRows(result: unknown): Row[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null)?.rows
  if (!Array.isArray(rows)) {
    throw new SkepError('TX_UNSUPPORTED', 'What runs the SQL of this transaction did not return rows.')
  }
  return rows.map((row) => (Array.isArray(row) ? row : Object.values(row as object)))
}

function outside(what: string, instead: string): SkepError {
  return new SkepError(
    'TX_UNSUPPORTED',
    `tx is ${what}, which is outside any transaction. Pass what you get from ${instead}.`,
  )
}

function unsupported(what: string): SkepError {
  return new SkepError(
    'TX_UNSUPPORTED',
    `tx is ${what} that is not known as a transaction. Pass a client of pg or postgres.js, the transaction of Drizzle, ` +
      'Kysely, Knex, TypeORM, MikroORM, Sequelize or Prisma, or a function (sql, params) => rows.',
  )
}
