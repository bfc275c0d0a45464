import {
  auditFunction,
  countMembersFunction,
  makeGroupsFunction,
  memberFunctions,
  tellFunction,
} from './flows/groups.ts'
import { addMembersFunction } from './flows/open-groups.ts'
import { makeRunsFunction, moveFunctions, pruneFlowsFunction, rejoinFunctions } from './flows/runs.ts'
import { flowTables } from './flows/tables.ts'
import { changeFunction } from './jobs/change.ts'
import { enqueueFunction } from './jobs/enqueue.ts'
import { insertFunction } from './jobs/insert.ts'
import { insertGivenFunction, insertMembersFunction } from './jobs/insert-json.ts'
import { simpleInsertFunctions } from './jobs/insert-simple.ts'
import { insertWithCareFunction } from './jobs/insert-with-conflicts.ts'
import { noteFunction, noteTables, removeNotesFunctions } from './jobs/job-log.ts'
import { dayFunctions, foldFunction, pruneFunction } from './jobs/maintenance.ts'
import { countFunction, everyJobView, expiredFunction, extendFunction, listFunction } from './jobs/read.ts'
import { insertForFunction, settleFunction } from './jobs/settle.ts'
import { tables } from './jobs/tables.ts'
import { serveLineFunction } from './lanes/claim.ts'
import { namedLineFunction } from './lanes/claim-by-id.ts'
import { foldLineFunction } from './lanes/compact.ts'
import { holdFunctions } from './lanes/holds.ts'
import { limitFunctions } from './lanes/limits.ts'
import { rateFunction, sliceFunction } from './lanes/rules.ts'
import { laneTables } from './lanes/tables.ts'
import { lockFunctions } from './locks.ts'
import { recordFunctions, recordTables } from './records.ts'
import {
  dueSchedulesFunction,
  fireSchedulesFunction,
  putSchedulesFunctions,
  scheduleTables,
} from './schedules.ts'

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
