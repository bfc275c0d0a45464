import { K } from '../keys.ts'

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
