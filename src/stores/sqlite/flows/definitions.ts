import type { FlowOutline } from '../../../store/flows.ts'
import type { Row } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'

const FIND = 'select name, version, outline from skep_flows where space = ? and name = ? and version = ?'
const PUT = 'insert or replace into skep_flows (space, name, version, outline) values (?, ?, ?, ?)'

/** Keeps how flows look. Returns those that looked different, as they were. */
export function putFlows(db: Turn['db'], space: string, flows: readonly FlowOutline[]): FlowOutline[] {
  return flows.flatMap(({ name, version, outline }) => {
    const row = db.get(FIND, space, name, version)
    const was = row && toOutline(row)
    if (was?.outline === outline) return []
    db.run(PUT, space, name, version, outline)
    return was ? [was] : []
  })
}

export function getFlows(db: Turn['db'], space: string, name: string | undefined): FlowOutline[] {
  const ofName = name === undefined ? '' : 'and name = ? '
  return db
    .all(
      `select name, version, outline from skep_flows where space = ? ${ofName}order by name, version`,
      space,
      ...(name === undefined ? [] : [name]),
    )
    .map(toOutline)
}

function toOutline(row: Row): FlowOutline {
  return { name: row[0] as string, version: row[1] as number, outline: row[2] as string }
}
