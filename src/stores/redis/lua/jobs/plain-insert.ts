import { createHash } from 'node:crypto'
import { DEFAULT_SPACE, keyNumbers } from '../../keys.ts'
import { SCHEMA } from '../script.ts'
import { SHEET } from './packed-ready.ts'

/** The keys of the short script. Each key of a call costs the server a third of a microsecond. */
export const PLAIN_KEYS = ['meta', 'names', 'lines', 'jobs', 'ready', 'counts'] as const

const K = keyNumbers(PLAIN_KEYS)

/**
 * Most inserts are fresh plain jobs of one queue without limits, in the order of their ids. They have a script of their own, because for a
 * few jobs the keys and definitions of the other one take longer than the work. It takes the arguments of `insert` and does the same,
 * or nothing: then it answers 1 if the queue has limits, and 0 if it is new, or jobs of the same moment are in between.
 */
export const PLAIN_INSERT: string = `
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local known = redis.call('HMGET', ${K.meta}, 'birth', 'schema')
local birth = known[1]
if not birth or tonumber(known[2]) ~= ${SCHEMA} then return 0 end
local q = redis.call('HGET', ${K.names}, ARGV[6] .. '\\0' .. ARGV[7])
if not q then return 0 end
if redis.call('HEXISTS', ${K.lines}, q) == 1 then return 1 end

local unpackJob, data, q4 = struct.unpack, ARGV[9], struct.pack('>I4', q)
local first, tag = struct.pack('>d', now), ARGV[6] == '${DEFAULT_SPACE}' and '' or ARGV[6]
-- As recordOf and readyMember would write them.
local head, place = '\\0' .. q4 .. struct.pack('>I6', now), q4 .. '\\0' .. string.char(string.byte(first) + 128) .. string.sub(first, 2)
local records, ids, n = {}, {}, 0
local from, size = 1, #data
while from <= size do
  local id, payload
  id, payload, from = unpackJob('>c16I4c0', data, from)
  n = n + 1
  records[2 * n - 1], records[2 * n], ids[n] = id .. tag, head .. payload, id
end
local before = redis.call('ZREVRANGEBYLEX', ${K.ready}, '(' .. place .. ids[n], '[' .. place, 'LIMIT', 0, 1)[1]
if before then
  local a1, a2, a3 = struct.unpack('>I6I6I4', before, #before - 15)
  local b1, b2, b3 = struct.unpack('>I6I6I4', ids[1])
  local isClear = a1 < b1 or (a1 == b1 and (a2 < b2 or (a2 == b2 and a3 < b3)))
  if not isClear then return 0 end
end
for at = 1, 2 * n, 4000 do redis.call('HSET', ${K.jobs}, unpack(records, at, math.min(at + 3999, 2 * n))) end
local sheets = {}
for at = 1, n, ${SHEET} do
  sheets[#sheets + 1], sheets[#sheets + 2] = 0, place .. table.concat(ids, '', at, math.min(at + ${SHEET - 1}, n))
end
for at = 1, #sheets, 4000 do redis.call('ZADD', ${K.ready}, unpack(sheets, at, math.min(at + 3999, #sheets))) end
redis.call('HINCRBY', ${K.counts}, q4 .. '2', n)
if ARGV[4] ~= '' then redis.pcall('PUBLISH', ARGV[3], ARGV[4]) end
return { { now, {}, {} }, birth, redis.call('HINCRBY', ${K.meta}, 'writes', 1), 1 }
`

export const PLAIN_INSERT_SHA: string = createHash('sha1').update(PLAIN_INSERT).digest('hex')
