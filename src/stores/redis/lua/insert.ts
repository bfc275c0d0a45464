import { K } from '../keys.ts'
import { SHEET } from './sheets.ts'

/**
 * insert: ARGV flags ("f" fresh, "a" again, "s" the ids of each piece rise), groups and runs as JSON or "", a channel and what to publish there or "", how many
 * queues, their spaces and names, then pieces in the order of the jobs: a queue (from 1), jobs, more. Where more is "", the
 * jobs are plain ones, each as id, length and payload; otherwise it is one job, and more is JSON. Answers the time and, for
 * what is not simply ready now, the place in the call with what became of it.
 */
export const INSERT: string = `
modules.insert = function()
  return function(args, now)
    local fresh = string.find(args[1], 'f', 1, true) ~= nil
    local again = string.find(args[1], 'a', 1, true) ~= nil
    local inOrder = string.find(args[1], 's', 1, true) ~= nil
    if args[2] ~= '' then use('groups').make(cjson.decode(args[2]), now) end
    local queues = tonumber(args[5])
    local numbers = {}
    for i = 1, queues do numbers[i] = makeNumber(args[4 + 2 * i], args[5 + 2 * i]) end

    local n, special, seen = 0, {}, {}
    local function insertSlowly(id, q, payload, sent)
      local state, moment, action = insertOne({
        id = id, q = q, payload = payload, x = sent.x or {}, delay = sent.delay or 0, runAt = sent.runAt, unique = sent.unique,
      }, again, fresh, now)
      if state ~= 'ready' or moment ~= now then
        local at = #special
        special[at + 1], special[at + 2], special[at + 3], special[at + 4] = n, state or '', moment, action or ''
      end
    end

    local unpackJob = struct.unpack
    for at = 6 + 2 * queues, #args, 3 do
      local q, data, more = numbers[tonumber(args[at])], args[at + 1], args[at + 2]
      if more ~= '' then
        n = n + 1
        insertSlowly(sub(data, 1, 16), q, sub(data, 17), cjson.decode(more))
      else
        local isEasy = not again and not isLimited(q)
        local head, place = '\\0' .. struct.pack('>I4I6', q, now), q4(q) .. '\\0' .. num(now)
        local records, ids = {}, {}
        local function flush()
          send('HSET', ${K.jobs}, records)
          use('sheets').lineUp(place, ids, inOrder)
          count(q, 'ready', #ids)
          records, ids = {}, {}
        end
        local from, size = 1, #data
        while from <= size do
          local id, payload
          id, payload, from = unpackJob('>c16I4c0', data, from)
          n = n + 1
          if isEasy and (fresh or (not seen[id] and redis.call('HEXISTS', ${K.jobs}, id) == 0 and redis.call('HEXISTS', ${K.archive}, id) == 0)) then
            if not fresh then seen[id] = true end
            records[#records + 1], records[#records + 2] = id, head .. payload
            ids[#ids + 1] = id
          else
            -- It may meet one of those that came before it.
            flush()
            insertSlowly(id, q, payload, {})
          end
        end
        flush()
      end
    end
    if args[4] ~= '' then redis.pcall('PUBLISH', args[3], args[4]) end
    return { now, special, enqueued(now) }
  end
end
`

/**
 * Most inserts are fresh plain jobs of one queue without limits, in the order of their ids. They are written before anything is
 * defined: for a single job the definitions take longer than the work. Where jobs of the same moment are in line already, the
 * rest of the script sees to their order.
 */
export const PLAIN_INSERT: string = `
if operation == 'insert' and #ARGV == 12 and ARGV[1] == 'fs' and ARGV[2] == '' and ARGV[10] == '' and birth and schema == SCHEMA then
  local q = redis.call('HGET', ${K.names}, ARGV[6] .. '\\0' .. ARGV[7])
  if q and redis.call('HEXISTS', ${K.lines}, q) == 0 then
    local unpackJob, data, q4 = struct.unpack, ARGV[9], struct.pack('>I4', q)
    local first = struct.pack('>d', now)
    -- As recordOf and readyMember would write them.
    local head, place = '\\0' .. q4 .. struct.pack('>I6', now), q4 .. '\\0' .. string.char(string.byte(first) + 128) .. string.sub(first, 2)
    local records, ids, n = {}, {}, 0
    local from, size = 1, #data
    while from <= size do
      local id, payload
      id, payload, from = unpackJob('>c16I4c0', data, from)
      n = n + 1
      records[2 * n - 1], records[2 * n], ids[n] = id, head .. payload, id
    end
    local before = redis.call('ZREVRANGEBYLEX', ${K.ready}, '(' .. place .. ids[n], '[' .. place, 'LIMIT', 0, 1)[1]
    local isClear = not before
    if before then
      local a1, a2, a3 = struct.unpack('>I6I6I4', before, #before - 15)
      local b1, b2, b3 = struct.unpack('>I6I6I4', ids[1])
      isClear = a1 < b1 or (a1 == b1 and (a2 < b2 or (a2 == b2 and a3 < b3)))
    end
    if isClear then
      for at = 1, 2 * n, 4000 do redis.call('HSET', ${K.jobs}, unpack(records, at, math.min(at + 3999, 2 * n))) end
      local sheets = {}
      for at = 1, n, ${SHEET} do
        sheets[#sheets + 1], sheets[#sheets + 2] = 0, place .. table.concat(ids, '', at, math.min(at + ${SHEET - 1}, n))
      end
      for at = 1, #sheets, 4000 do redis.call('ZADD', ${K.ready}, unpack(sheets, at, math.min(at + 3999, #sheets))) end
      redis.call('HINCRBY', ${K.counts}, q4 .. '2', n)
      if ARGV[4] ~= '' then redis.pcall('PUBLISH', ARGV[3], ARGV[4]) end
      return { { now, {}, {} }, birth, redis.call('HINCRBY', ${K.meta}, 'writes', 1), 1 }
    end
  end
end
`
