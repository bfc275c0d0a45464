import { K } from '../keys.ts'

/**
 * insert: ARGV flags ("f" fresh, "a" again), groups and runs as JSON or "", a channel and what to publish there or "", how many
 * queues, their spaces and names, then pieces in the order of the jobs: a queue (from 1), jobs, more. Where more is "", the
 * jobs are plain ones, each as id, length and payload; otherwise it is one job, and more is JSON. Answers the time and, for
 * what is not simply ready now, the place in the call with what became of it.
 */
export const INSERT: string = `
modules.insert = function()
  return function(args, now)
    local fresh = string.find(args[1], 'f', 1, true) ~= nil
    local again = string.find(args[1], 'a', 1, true) ~= nil
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
        local records, places, r = {}, {}, 0
        local from, size = 1, #data
        while from <= size do
          local id, payload
          id, payload, from = unpackJob('>c16I4c0', data, from)
          n = n + 1
          if isEasy and (fresh or (not seen[id] and redis.call('HEXISTS', ${K.jobs}, id) == 0 and redis.call('HEXISTS', ${K.archive}, id) == 0)) then
            if not fresh then seen[id] = true end
            records[r + 1], records[r + 2] = id, head .. payload
            places[r + 1], places[r + 2] = 0, place .. id
            r = r + 2
          else
            -- It may meet one of those that came before it.
            send('HSET', ${K.jobs}, records)
            send('ZADD', ${K.ready}, places)
            count(q, 'ready', r / 2)
            records, places, r = {}, {}, 0
            insertSlowly(id, q, payload, {})
          end
        end
        send('HSET', ${K.jobs}, records)
        send('ZADD', ${K.ready}, places)
        count(q, 'ready', r / 2)
      end
    end
    if args[4] ~= '' then redis.pcall('PUBLISH', args[3], args[4]) end
    return { now, special, enqueued(now) }
  end
end
`

/**
 * Most inserts are fresh plain jobs of one queue without limits. They are written before anything is defined: for a single job
 * the definitions take longer than the work.
 */
export const PLAIN_INSERT: string = `
if operation == 'insert' and #ARGV == 12 and ARGV[1] == 'f' and ARGV[2] == '' and ARGV[10] == '' and birth and schema == SCHEMA then
  local q = redis.call('HGET', ${K.names}, ARGV[6] .. '\\0' .. ARGV[7])
  if q and redis.call('HEXISTS', ${K.lines}, q) == 0 then
    local unpackJob, data, q4 = struct.unpack, ARGV[9], struct.pack('>I4', q)
    local first = struct.pack('>d', now)
    -- As recordOf and readyMember would write them.
    local head, place = '\\0' .. q4 .. struct.pack('>I6', now), q4 .. '\\0' .. string.char(string.byte(first) + 128) .. string.sub(first, 2)
    local from, size, n = 1, #data, 0
    while from <= size do
      local records, places, r = {}, {}, 0
      while from <= size and r < 4000 do
        local id, payload
        id, payload, from = unpackJob('>c16I4c0', data, from)
        records[r + 1], records[r + 2] = id, head .. payload
        places[r + 1], places[r + 2] = 0, place .. id
        r = r + 2
      end
      redis.call('HSET', ${K.jobs}, unpack(records))
      redis.call('ZADD', ${K.ready}, unpack(places))
      n = n + r / 2
    end
    redis.call('HINCRBY', ${K.counts}, q4 .. '2', n)
    if ARGV[4] ~= '' then redis.pcall('PUBLISH', ARGV[3], ARGV[4]) end
    return { { now, {}, {} }, birth, redis.call('HINCRBY', ${K.meta}, 'writes', 1), 1 }
  end
end
`
