#!/usr/bin/env node
import { COMMANDS } from './command-table.ts'
import { quietExperiments } from './connect/load-module.ts'
import { whenOutputCloses } from './connect/stop.ts'
import { flushed } from './output.ts'
import { runProgram } from './program.ts'

quietExperiments()
whenOutputCloses()
const code = await runProgram(process.argv.slice(2), COMMANDS, { env: process.env, cwd: process.cwd() })
await flushed()
// A user's config may have opened resources that stay open: exit explicitly.
process.exit(code)
