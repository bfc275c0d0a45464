import type { Command } from './command.ts'
import { benchCommand } from './commands/bench.ts'
import { bulkCommand } from './commands/bulk.ts'
import { completionCommand } from './commands/completion.ts'
import { deadCommand } from './commands/dead.ts'
import { devCommand } from './commands/dev.ts'
import { doctorCommand } from './commands/doctor.ts'
import { openapiCommand, protoCommand } from './commands/documents.ts'
import { enqueueCommand } from './commands/enqueue.ts'
import { errorsCommand } from './commands/errors.ts'
import { flowsCommand } from './commands/flows.ts'
import { initCommand } from './commands/init.ts'
import { jobsCommand } from './commands/jobs.ts'
import { migrateCommand } from './commands/migrate.ts'
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
