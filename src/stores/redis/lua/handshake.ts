import { K } from '../keys.ts'

/**
 * greet: ARGV the run id of the server, or "" if nobody knows it. The first call of every connection. Answers the runs that
 * ended before this one, newest first, each with how often had been written when the next one began: whoever has seen
 * more in that run knows that it was lost.
 *
 * migrate: answers the numbers of the upgrades that it ran.
 */
export const GREET: string = `
modules.greet = function()
  local RUNS = 8
  return function(args)
    local run = args[1]
    local known = redis.call('HMGET', ${K.meta}, 'run', 'runs')
    local ended = known[2] and cjson.decode(known[2]) or {}
    if run ~= '' and known[1] ~= run then
      if known[1] then table.insert(ended, 1, { known[1], writes }) end
      ended[RUNS + 1] = nil
      redis.call('HSET', ${K.meta}, 'run', run, 'runs', cjson.encode(ended))
    end
    return ended
  end
end

modules.migrate = function()
  -- What brings the data of the number before to this one. Number 1 is the first.
  local UPGRADES = { function() end }
  return function()
    local applied = {}
    for number = schema + 1, SCHEMA do
      UPGRADES[number]()
      applied[#applied + 1] = number
    end
    if #applied > 0 then redis.call('HSET', ${K.meta}, 'schema', SCHEMA) end
    return applied
  end
end
`
