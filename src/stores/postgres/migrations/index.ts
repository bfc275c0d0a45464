import { insertWithCareFunction } from './careful-insert-function.ts'
import { changeFunction } from './change-function.ts'
import { enqueueFunction } from './enqueue-function.ts'
import { flowTables } from './flow-tables.ts'
import { foldLineFunction } from './fold-line-function.ts'
import { insertGivenFunction, insertMembersFunction } from './given-functions.ts'
import {
  auditFunction,
  countMembersFunction,
  makeGroupsFunction,
  memberFunctions,
  tellFunction,
} from './group-functions.ts'
import { holdFunctions } from './hold-functions.ts'
import { insertFunction } from './insert-function.ts'
import { rateFunction, sliceFunction } from './lane-rules.ts'
import { laneTables } from './lane-tables.ts'
import { limitFunctions } from './limit-functions.ts'
import { lockFunctions } from './lock-functions.ts'
import { namedLineFunction } from './named-line-function.ts'
import { noteFunction, noteTables, removeNotesFunctions } from './notes.ts'
import { addMembersFunction } from './open-group-function.ts'
import {
  countFunction,
  everyJobView,
  expiredFunction,
  extendFunction,
  listFunction,
} from './read-functions.ts'
import { recordFunctions, recordTables } from './records.ts'
import { makeRunsFunction, moveFunctions, pruneFlowsFunction, rejoinFunctions } from './run-functions.ts'
import {
  dueSchedulesFunction,
  fireSchedulesFunction,
  putSchedulesFunctions,
  scheduleTables,
} from './schedules.ts'
import { serveLineFunction } from './serve-line-function.ts'
import { insertForFunction, settleFunction } from './settle-function.ts'
import { simpleInsertFunctions } from './simple-insert-functions.ts'
import { tables } from './tables.ts'
import { dayFunctions, foldFunction, pruneFunction } from './upkeep-functions.ts'
import { weighFunction } from './weigh-function.ts'

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
        noteTables,
        recordTables,
        flowTables,
        laneTables,
        everyJobView,
        rateFunction,
        sliceFunction,
        foldLineFunction,
        serveLineFunction,
        namedLineFunction,
        holdFunctions,
        limitFunctions,
        lockFunctions,
        insertFunction,
        insertWithCareFunction,
        settleFunction,
        insertForFunction,
        simpleInsertFunctions,
        insertGivenFunction,
        insertMembersFunction,
        makeGroupsFunction,
        makeRunsFunction,
        countMembersFunction,
        tellFunction,
        addMembersFunction,
        auditFunction,
        memberFunctions,
        rejoinFunctions,
        moveFunctions,
        pruneFlowsFunction,
        extendFunction,
        changeFunction,
        listFunction,
        expiredFunction,
        countFunction,
        weighFunction,
        foldFunction,
        dayFunctions,
        noteFunction,
        removeNotesFunctions,
        recordFunctions,
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
