import { K } from '../keys.ts'

/**
 * Holds: few, so all are read when a claim asks. A hold on a lane is told to that lane, and not looked at again.
 *
 * hold, release: ARGV the call as JSON. holds: ARGV a space, or "" for all.
 */
export const HOLDS: string = `
modules.holds = function()
  local null = cjson.null
  local function text(value) return value ~= nil and value ~= null and value or nil end

  local function nameOfHold(hold)
    local parts = { hold.kind }
    for _, name in ipairs({ 'space', 'queue', 'lane' }) do
      parts[#parts + 1] = text(hold[name]) and '=' .. hold[name] or '*'
    end
    return table.concat(parts, '\\0')
  end

  local function stands(hold, now) return not text(hold.till) or hold.till > now end

  local function standing(now)
    local found = {}
    local all = redis.call('HVALS', ${K.holds})
    for _, value in ipairs(all) do
      local hold = cjson.decode(value)
      if stands(hold, now) then found[#found + 1] = hold end
    end
    return found
  end

  -- Whether a name fits a pattern in which * stands for anything.
  local function matches(pattern, name)
    if not string.find(pattern, '*', 1, true) then return pattern == name end
    local parts = {}
    for part in string.gmatch(pattern .. '*', '(.-)%*') do parts[#parts + 1] = part end
    local first, last = parts[1], parts[#parts]
    if sub(name, 1, #first) ~= first or #name < #first + #last or sub(name, #name - #last + 1) ~= last then return false end
    local at = #first + 1
    for i = 2, #parts - 1 do
      local found = parts[i] == '' and at or string.find(name, parts[i], at, true)
      if not found or found + #parts[i] - 1 > #name - #last then return false end
      at = found + #parts[i]
    end
    return true
  end

  local function endOf(space, queue, now)
    local latest = 0
    for _, hold in ipairs(standing(now)) do
      local fits = not text(hold.lane) and (not text(hold.space) or hold.space == space)
        and (not text(hold.queue) or matches(hold.queue, queue))
      if fits then latest = max(latest, text(hold.till) or NEVER) end
    end
    return latest
  end

  -- Tells a lane until when it is held.
  local function showLane(hold, now)
    if not text(hold.lane) or not text(hold.space) or not text(hold.queue) then return end
    local latest = 0
    for _, one in ipairs(standing(now)) do
      local isSame = (not text(one.space) or one.space == hold.space) and one.queue == hold.queue and one.lane == hold.lane
      if isSame then latest = max(latest, text(one.till) or NEVER) end
    end
    use('lines').hold(makeNumber(hold.space, hold.queue), hold.lane, latest, now)
  end

  local function put(hold, now)
    local name = nameOfHold(hold)
    local known = redis.call('HGET', ${K.holds}, name)
    known = known and cjson.decode(known)
    hold.since = known and stands(known, now) and known.since or now
    hold.till = text(hold.forMs) and now + hold.forMs or nil
    hold.forMs = nil
    hold.n = known and known.n or redis.call('HINCRBY', ${K.meta}, 'holds', 1)
    local value = cjson.encode(hold)
    redis.call('HSET', ${K.holds}, name, value)
    showLane(hold, now)
    return value
  end

  local function release(hold, now)
    local name = nameOfHold(hold)
    local known = redis.call('HGET', ${K.holds}, name)
    redis.call('HDEL', ${K.holds}, name)
    if not known or not stands(cjson.decode(known), now) then return 0 end
    showLane(hold, now)
    return 1
  end

  local function prune(now)
    local all = redis.call('HGETALL', ${K.holds})
    for i = 1, #all, 2 do
      if not stands(cjson.decode(all[i + 1]), now) then redis.call('HDEL', ${K.holds}, all[i]) end
    end
  end

  return { endOf = endOf, put = put, release = release, standing = standing, prune = prune }
end
modules.hold = function()
  return function(args, now)
    local put = {}
    for i, hold in ipairs(cjson.decode(args[1])) do put[i] = use('holds').put(hold, now) end
    return put
  end
end
modules.release = function()
  return function(args, now)
    local released = {}
    for i, hold in ipairs(cjson.decode(args[1])) do released[i] = use('holds').release(hold, now) end
    return released
  end
end
modules.listHolds = function()
  return function(_, now)
    local all = {}
    for i, hold in ipairs(use('holds').standing(now)) do all[i] = cjson.encode(hold) end
    return all
  end
end
`
