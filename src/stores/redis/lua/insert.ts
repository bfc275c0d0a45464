import { K } from '../keys.ts'

/**
 * insert: ARGV flags ("f" fresh, "a" again), groups and runs as JSON or "", how many queues, their spaces and names, then
 * for each job id, queue (from 1), payload, more as JSON or "". Answers the time and, for what is not simply ready now,
 * the place in the call with what became of it.
 */
export const INSERT: string = `
modules.insert = function()
  return function(args, now)
    local fresh = string.find(args[1], 'f', 1, true) ~= nil
    local again = string.find(args[1], 'a', 1, true) ~= nil
    if args[2] ~= '' then use('groups').make(cjson.decode(args[2]), now) end
    local queues = tonumber(args[3])
    local numbers = {}
    for i = 1, queues do numbers[i] = makeNumber(args[2 + 2 * i], args[3 + 2 * i]) end

    local special = {}
    local records, places, heads, seen = {}, {}, {}, {}
    local nowPlace = num(now)
    local function flush()
      send('HSET', ${K.jobs}, records)
      send('ZADD', ${K.ready}, places)
      records, places = {}, {}
    end
    local n = 0
    for at = 4 + 2 * queues, #args, 4 do
      n = n + 1
      local id, q, payload, more = args[at], numbers[tonumber(args[at + 1])], args[at + 2], args[at + 3]
      local isPlain = more == '' and not isLimited(q)
      if isPlain and not fresh then
        isPlain = not again and not seen[id] and redis.call('HEXISTS', ${K.jobs}, id) == 0
          and redis.call('HEXISTS', ${K.archive}, id) == 0
        seen[id] = true
      end
      if isPlain then
        local head = heads[q]
        if not head then
          head = { record = '\\0' .. struct.pack('>I4I6', q, now), place = q4(q) .. '\\0' .. nowPlace }
          heads[q] = head
        end
        records[#records + 1] = id
        records[#records + 1] = head.record .. payload
        places[#places + 1] = 0
        places[#places + 1] = head.place .. id
        count(q, 'ready', 1)
      else
        -- It may meet what came before it.
        flush()
        local sent = more == '' and {} or cjson.decode(more)
        local state, moment, action = insertOne({
          id = id, q = q, payload = payload, x = sent.x or {}, delay = sent.delay or 0, runAt = sent.runAt, unique = sent.unique,
        }, again, fresh, now)
        if state ~= 'ready' or moment ~= now then
          special[#special + 1] = n
          special[#special + 1] = state or ''
          special[#special + 1] = moment
          special[#special + 1] = action or ''
        end
      end
    end
    flush()
    return { now, special, enqueued(now) }
  end
end
`
