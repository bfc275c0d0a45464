import { createHash } from 'node:crypto'
import { PRIORITY_STEP_MS } from '../../../../core/jobs/job.ts'
import { DEFAULT_SPACE, keyNumbers } from '../../keys.ts'
import { SCHEMA } from '../script.ts'
import { SHEET } from './packed-ready.ts'

export const PLAIN_CLAIM_KEYS = [
  'meta',
  'names',
  'lines',
  'holds',
  'delayed',
  'ready',
  'jobs',
  'held',
  'claims',
  'live',
  'leases',
  'started',
  'tasks',
  'counts',
  'ages',
] as const

const K = keyNumbers(PLAIN_CLAIM_KEYS)

/** More than this is not few. */
const MOST = 1_000

/**
 * Whoever waits for work mostly finds a few plain jobs in a queue without limits, or none. They have a script of their own, because the
 * keys and definitions of the other one take longer than the work, and a job waits for them. It takes the arguments of `claim` with one
 * source and does the same, if it can take all that is ready there. Otherwise it does nothing: then it answers 1 if the queue has limits,
 * and 0 if it is new, there is more, something is held, delayed jobs are due, or a job has a unique key, a lane, a group or a strict priority.
 */
export const PLAIN_CLAIM: string = `
local byte, char, sub, pack = string.byte, string.char, string.sub, struct.pack
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
if byte(ARGV[#ARGV - 1]) == 33 then redis.call('HDEL', ${K.meta}, '!') end
local known = redis.call('HMGET', ${K.meta}, 'birth', 'schema', 'writes')
local birth = known[1]
if not birth or tonumber(known[2]) ~= ${SCHEMA} or redis.call('HLEN', ${K.holds}) > 0 then return 0 end
local q = redis.call('HGET', ${K.names}, ARGV[7] .. '\\0' .. ARGV[8])
if not q then return 0 end
if redis.call('HEXISTS', ${K.lines}, q) == 1 then return 1 end

-- As num, numAt, members, leaseOf and lease would do it.
local function num(x)
  local text = pack('>d', x)
  return char(byte(text) + 128) .. sub(text, 2)
end
local token, worker, limit, q4 = ARGV[1], ARGV[2], tonumber(ARGV[4]), pack('>I4', q)
local delayed, due = redis.call('ZRANGEBYLEX', ${K.delayed}, '[' .. q4, '(' .. q4 .. '\\255', 'LIMIT', 0, 1)[1], nil
if delayed then
  if byte(delayed, 5) < 128 then return 0 end
  due = struct.unpack('>d', char(byte(delayed, 5) - 128) .. sub(delayed, 6, 12))
  if due <= now then return 0 end
end
local room = math.min(limit, tonumber(ARGV[9]), ${MOST})
local asked = math.ceil(room / ${SHEET}) + 1
local found = redis.call('ZRANGEBYLEX', ${K.ready}, '[' .. q4 .. '\\0', '(' .. q4 .. '\\1', 'LIMIT', 0, asked)
if #found == asked then return 0 end
local ids, n = {}, 0
for _, member in ipairs(found) do
  for at = 14, #member, 16 do
    n = n + 1
    ids[n] = sub(member, at, at + 15)
  end
end
if n > room then return 0 end
local lookAgain = n < limit and due or ''
if n == 0 then return { { now, lookAgain, {}, {} }, birth, tonumber(known[3] or 0), 0 } end

local till, name, keys = now + ARGV[3], token .. '\\0' .. q4, ids
if ARGV[7] ~= '${DEFAULT_SPACE}' then
  keys = {}
  for i = 1, n do keys[i] = ids[i] .. ARGV[7] end
end
local held, list, leases, ages = {}, {}, {}, {}
for i, record in ipairs(redis.call('HMGET', ${K.jobs}, unpack(keys))) do
  local mark = record and byte(record) or 255
  if mark > 1 then return 0 end
  local more = mark == 1 and struct.unpack('>I4c0', record, 12)
  if more and string.find(more, '"s":', 1, true) then return 0 end
  if more and string.find(more, '"p":', 1, true) then
    local x = cjson.decode(more)
    if x.p then
      local dueAt = x.d or struct.unpack('>I6', record, 6)
      local rank = dueAt - x.p * ${PRIORITY_STEP_MS}
      if rank < 0 then return 0 end
      ages[#ages + 1], ages[#ages + 2] = q4 .. num(dueAt) .. ids[i], q4 .. '\\255' .. num(rank) .. ids[i]
    end
  end
  leases[mark] = leases[mark] or num(till) .. q4 .. char(mark) .. token
  held[2 * i - 1], held[2 * i] = keys[i], leases[mark]
  list[2 * i - 1], list[2 * i] = pack('>c16I4', ids[i], #record), record
end
if redis.call('HEXISTS', ${K.claims}, name) == 1 then return 0 end
redis.call('ZREMRANGEBYLEX', ${K.ready}, '[' .. found[1], '[' .. found[#found])
if #ages > 0 then redis.call('ZREM', ${K.ages}, unpack(ages)) end
redis.call('HSET', ${K.held}, unpack(held))
redis.call('HSET', ${K.claims}, name, num(till) .. num(now) .. pack('>I2', #worker) .. worker .. table.concat(ids))
redis.call('ZADD', ${K.leases}, 0, q4 .. num(till) .. token)
redis.call('ZADD', ${K.started}, 0, q4 .. num(now) .. token)
redis.call('ZADD', ${K.tasks}, 0, worker .. '\\0' .. q4 .. token)
redis.call('HINCRBY', ${K.live}, name, n)
redis.call('HINCRBY', ${K.counts}, q4 .. '2', -n)
redis.call('HINCRBY', ${K.counts}, q4 .. '3', n)
return { { now, lookAgain, {}, { 0, table.concat(list) } }, birth, redis.call('HINCRBY', ${K.meta}, 'writes', 1), 1 }
`

export const PLAIN_CLAIM_SHA: string = createHash('sha1').update(PLAIN_CLAIM).digest('hex')
