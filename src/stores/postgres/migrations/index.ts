import { insertWithCareFunction } from './careful-insert-function.ts'
import { changeFunction } from './change-function.ts'
import { enqueueFunction } from './enqueue-function.ts'
import { insertFunction } from './insert-function.ts'
import {
  countFunction,
  everyJobView,
  expiredFunction,
  extendFunction,
  listFunction,
} from './read-functions.ts'
import {
  dueSchedulesFunction,
  fireSchedulesFunction,
  putSchedulesFunctions,
  scheduleTables,
} from './schedules.ts'
import { insertForFunction, settleFunction } from './settle-function.ts'
import { tables } from './tables.ts'
import { dayFunctions, foldFunction, pruneFunction } from './upkeep-functions.ts'

export interface Migration {
  readonly id: string
  /** The statements, for a schema that exists. A migration that was released is never edited. */
  readonly sql: (schema: string) => string
}

export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001-jobs',
    sql: (schema) =>
      [
        tables,
        everyJobView,
        insertFunction,
        insertWithCareFunction,
        settleFunction,
        insertForFunction,
        extendFunction,
        changeFunction,
        listFunction,
        expiredFunction,
        countFunction,
        foldFunction,
        dayFunctions,
        pruneFunction,
        enqueueFunction,
        scheduleTables,
        putSchedulesFunctions,
        dueSchedulesFunction,
        fireSchedulesFunction,
      ]
        .map((part) => part(schema))
        .join(''),
  },
]
