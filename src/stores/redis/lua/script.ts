import { createHash } from 'node:crypto'
import { K } from '../keys.ts'
import { BYTES } from './codec.ts'
import { GROUPS } from './groups.ts'
import { GREET } from './handshake.ts'
import { CHANGE } from './jobs/change.ts'
import { CLAIM } from './jobs/claim.ts'
import { INSERT } from './jobs/insert.ts'
import { RECORDS } from './jobs/job-codec.ts'
import { NOTES } from './jobs/job-log.ts'
import { JOBS } from './jobs/jobs.ts'
import { LEASES } from './jobs/leases.ts'
import { SHEETS } from './jobs/packed-ready.ts'
import { READS } from './jobs/read.ts'
import { SETTLE } from './jobs/settle.ts'
import { LINES } from './lanes.ts'
import { UPKEEP } from './prune.ts'
import { DOCUMENTS } from './records.ts'
import { HOLDS } from './rules.ts'
import { SCHEDULES } from './schedules.ts'

/** How the data is laid out. Another number in the store is the work of another version of Skep. */
export const SCHEMA = 1

/** A field that is longer than this server's `hash-max-listpack-value`, unless somebody has raised it. */
const LONG = 65

/** What every call defines. */
const SHARED = [BYTES, RECORDS, JOBS, LEASES].join('')

/** The parts that a call defines when it needs them. */
const MODULES = [
  INSERT,
  CLAIM,
  SETTLE,
  CHANGE,
  SHEETS,
  LINES,
  HOLDS,
  READS,
  NOTES,
  DOCUMENTS,
  SCHEDULES,
  GROUPS,
  UPKEEP,
  GREET,
].join('')

/** The names of what is shared. */
const NAMES: readonly string[] = [...SHARED.matchAll(/^local (?:function (\w+)|([\w, ]+) =)/gm)].flatMap(
  ([, name, list = '']) => name ?? list.split(', '),
)

/**
 * A module as a branch of `make`, which takes what it needs of the shared things out of a table first. As a function of its
 * own it would capture them, and Lua looks for each thing that a function captures: forty functions with forty each cost
 * more than most calls do.
 */
function branch([, name = '', long, short = '']: readonly string[]): string {
  const body = long ?? `  ${short}\n`
  const needed = NAMES.filter((shared) => new RegExp(`\\b${shared}\\b`).test(body))
  const locals = `local ${needed.join(', ')} = ${needed.map((shared) => `shared.${shared}`).join(', ')}`
  return `  if name == '${name}' then\n${needed.length > 0 ? locals : ''}\n${body}  end\n`
}

const MODULE = /^modules\.(\w+) = function\(\)(?:\n([\s\S]*?)^end$| (.*) end$)/gm

/**
 * The script of the store. The last two arguments say what is to be done and when (milliseconds, or "" for now); what
 * comes before them belongs to that operation. Parts that few calls need are modules, each defined when `use` is first
 * asked for it, so a call pays only for what it needs.
 *
 * A "!" before the operation lets it use memory that is not there: the server refuses a script that begins by taking some,
 * and none that has given some back.
 */
export const SCRIPT: string = `
local SCHEMA = ${SCHEMA}
local now, operation = tonumber(ARGV[#ARGV]), ARGV[#ARGV - 1]
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local known = redis.call('HMGET', ${K.meta}, 'birth', 'writes', 'schema')
local birth, writes, schema = known[1], tonumber(known[2] or 0), tonumber(known[3] or SCHEMA)
local shared, make
local loaded = {}
local function use(name)
  local module = loaded[name]
  if module == nil then
    module = make(name)
    loaded[name] = module
  end
  return module
end

-- What groups have enqueued, once everything that ends a member has happened.
local function enqueued(now)
  if loaded.groups then return loaded.groups.fire(now) end
  return {}
end
${SHARED}
shared = { ${NAMES.map((name) => `${name} = ${name}`).join(', ')} }
make = function(name)
${[...MODULES.matchAll(MODULE)].map(branch).join('')}end
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
if byte(operation) == 33 then
  operation = sub(operation, 2)
  redis.call('HDEL', ${K.meta}, '!')
end
if schema ~= SCHEMA and not (schema < SCHEMA and (operation == 'greet' or operation == 'migrate')) then return redis.error_reply('SKEPSCHEMA ' .. schema) end
local answer = use(operation)(ARGV, now)
if loaded.lines then loaded.lines.write() end
writeCounts()

-- Every call that writes is counted, so that whoever has seen a higher number knows that something was lost.
local READS = { greet = true, migrate = true, get = true, list = true, count = true, counts = true, countAll = true, expired = true, workers = true, listHolds = true, limits = true, lanes = true,
  readNotes = true, getRecords = true, listRecords = true, getSchedules = true, listSchedules = true, dueSchedules = true, getRuns = true, listRuns = true, countRuns = true, getGroups = true, outcomes = true, openMembers = true }
local isWrite = not READS[operation] and not (operation == 'claim' and #answer[4] == 0)
if isWrite then
  if not birth then
    local time = redis.call('TIME')
    birth = time[1] .. '.' .. time[2]
    redis.call('HSET', ${K.meta}, 'birth', birth, 'schema', SCHEMA)
    -- The server searches a small hash from its beginning. With one long field it is never small.
    redis.call('HSET', ${K.jobs}, '', string.rep(' ', ${LONG}))
    redis.call('HSET', ${K.held}, '', string.rep(' ', ${LONG}))
  end
  writes = redis.call('HINCRBY', ${K.meta}, 'writes', 1)
end
return { answer, birth or '', writes, isWrite and 1 or 0 }
`

export const SCRIPT_SHA: string = createHash('sha1').update(SCRIPT).digest('hex')
