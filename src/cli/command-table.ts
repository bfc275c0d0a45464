import type { Command } from './command.ts'
import { doctorCommand } from './commands/doctor.ts'
import { flowsCommand } from './commands/flows.ts'
import { bulkCommand } from './commands/jobs/bulk.ts'
import { deadCommand } from './commands/jobs/dead.ts'
import { enqueueCommand } from './commands/jobs/enqueue.ts'
import { errorsCommand } from './commands/jobs/errors.ts'
import { jobsCommand } from './commands/jobs/jobs.ts'
import { benchCommand } from './commands/project/bench.ts'
import { completionCommand } from './commands/project/completion.ts'
import { devCommand } from './commands/project/dev.ts'
import { openapiCommand, protoCommand } from './commands/project/documents.ts'
import { initCommand } from './commands/project/init.ts'
import { migrateCommand } from './commands/project/migrate.ts'
import { queuesCommand } from './commands/queues.ts'
import { receiversCommand } from './commands/receivers.ts'
import { schedulesCommand } from './commands/schedules.ts'
import { serverCommand } from './commands/server.ts'
import { spacesCommand } from './commands/spaces.ts'
import { tokensCommand } from './commands/tokens.ts'
import { topCommand } from './commands/top.ts'
import { workerCommand } from './commands/worker.ts'
import { workersCommand } from './commands/workers.ts'

/** Every command of `skep`, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  initCommand,
  devCommand,
  workerCommand,
  serverCommand,
  topCommand,
  enqueueCommand,
  queuesCommand,
  jobsCommand,
  deadCommand,
  errorsCommand,
  bulkCommand,
  spacesCommand,
  workersCommand,
  receiversCommand,
  flowsCommand,
  schedulesCommand,
  tokensCommand,
  migrateCommand,
  doctorCommand,
  openapiCommand,
  protoCommand,
  benchCommand,
  completionCommand(() => COMMANDS),
]
