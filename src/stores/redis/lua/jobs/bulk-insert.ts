import { createHash } from 'node:crypto'
import { keyNumbers } from '../../keys.ts'
import { SCHEMA } from '../script.ts'
import { PLAIN_KEYS } from './plain-insert.ts'

const K = keyNumbers(PLAIN_KEYS)

/** So long the answer to the question holds. Nobody shall get a place that is older. */
const LONGEST_MS = 10_000

/**
 * The same for very many jobs. Lua takes most of the time there: it reads every byte of every text that it makes. So whoever inserts asks
 * first which number the queue has and what time it is, and then sends the records and sheets as they are to be kept, packed so that
 * they become arguments of a command without a line of Lua for each job. The moment of the jobs is that of the question.
 *
 * ARGV space, queue, then nothing; or the moment and the number, a channel and what to publish there or "", the first id and the last,
 * how many jobs, how many pieces with records, these, and pieces with sheets. Answers as the short script does: 1 if the queue has limits,
 * and 0 if it is new or another one, if too much time has passed, or jobs of the same moment are in between.
 */
export const BULK_INSERT: string = `
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local known = redis.call('HMGET', ${K.meta}, 'birth', 'schema', 'writes')
local birth = known[1]
if not birth or tonumber(known[2]) ~= ${SCHEMA} then return 0 end
local q = redis.call('HGET', ${K.names}, ARGV[1] .. '\\0' .. ARGV[2])
if not q then return 0 end
if redis.call('HEXISTS', ${K.lines}, q) == 1 then return 1 end
if #ARGV == 4 then return { { now, q }, birth, tonumber(known[3] or 0), 0 } end

local moment, first, last = tonumber(ARGV[3]), ARGV[7], ARGV[8]
if ARGV[4] ~= q or moment > now or moment < now - ${LONGEST_MS} then return 0 end
local q4, sign = struct.pack('>I4', q), struct.pack('>d', moment)
local place = q4 .. '\\0' .. string.char(string.byte(sign) + 128) .. string.sub(sign, 2)
local before = redis.call('ZREVRANGEBYLEX', ${K.ready}, '(' .. place .. last, '[' .. place, 'LIMIT', 0, 1)[1]
if before then
  local a1, a2, a3 = struct.unpack('>I6I6I4', before, #before - 15)
  local b1, b2, b3 = struct.unpack('>I6I6I4', first)
  local isClear = a1 < b1 or (a1 == b1 and (a2 < b2 or (a2 == b2 and a3 < b3)))
  if not isClear then return 0 end
end
local sheets = 11 + ARGV[10]
for at = 11, sheets - 1 do redis.call('HSET', ${K.jobs}, cmsgpack.unpack(ARGV[at])) end
for at = sheets, #ARGV - 2 do redis.call('ZADD', ${K.ready}, cmsgpack.unpack(ARGV[at])) end
redis.call('HINCRBY', ${K.counts}, q4 .. '2', ARGV[9])
if ARGV[6] ~= '' then redis.pcall('PUBLISH', ARGV[5], ARGV[6]) end
return { { moment, {}, {} }, birth, redis.call('HINCRBY', ${K.meta}, 'writes', 1), 1 }
`

export const BULK_INSERT_SHA: string = createHash('sha1').update(BULK_INSERT).digest('hex')
