import { K } from '../keys.ts'

/**
 * Schedules: `core/schedule-moves.ts` over a hash. `due` has "d" space NUL moment id of those that will fire, and "i"
 * space NUL id of all. Each operation has its call as JSON in ARGV.
 */
export const SCHEDULES: string = `
modules.schedules = function()
  local null = cjson.null
  local function given(value)
    if value == null then return nil end
    return value
  end

  local function read(space, id)
    local text = redis.call('HGET', ${K.schedules}, space .. '\\0' .. id)
    return text and cjson.decode(text)
  end

  local function dueMember(schedule)
    if not schedule.nextAt or schedule.pausedAt then return nil end
    return 'd' .. schedule.space .. '\\0' .. num(schedule.nextAt) .. schedule.id
  end

  local function write(before, after)
    local was, is = before and dueMember(before), dueMember(after)
    if was ~= is then
      if was then redis.call('ZREM', ${K.due}, was) end
      if is then redis.call('ZADD', ${K.due}, 0, is) end
    end
    if not before then redis.call('ZADD', ${K.due}, 0, 'i' .. after.space .. '\\0' .. after.id) end
    redis.call('HSET', ${K.schedules}, after.space .. '\\0' .. after.id, cjson.encode(after))
  end

  local function with(schedule, changes, gone)
    local copy = {}
    for name, value in pairs(schedule) do copy[name] = value end
    for name, value in pairs(changes) do copy[name] = value end
    for _, name in ipairs(gone or {}) do copy[name] = nil end
    return copy
  end

  local function isAt(stored, expect)
    return stored.revision == expect.revision and stored.nextAt == given(expect.nextAt)
  end

  local function put(draft, now)
    local stored, expect = read(draft.space, draft.id), given(draft.expect)
    local fields = {
      space = draft.space, id = draft.id, revision = draft.revision, spec = draft.spec, dynamic = draft.dynamic,
      declaredBy = given(draft.declaredBy), nextAt = given(draft.nextAt), updatedAt = now,
    }
    if not stored then
      if expect then return 'refused' end
      fields.fired, fields.skipped, fields.createdAt = 0, 0, now
      write(nil, fields)
      return 'ok'
    end
    if stored.revision == draft.revision then return 'ok' end
    if stored.spec == draft.spec and stored.declaredBy == fields.declaredBy and stored.dynamic == draft.dynamic then return 'unchanged' end
    if not expect or not isAt(stored, expect) then return 'refused' end
    local gone = {}
    for _, name in ipairs({ 'declaredBy', 'nextAt' }) do
      if fields[name] == nil then gone[#gone + 1] = name end
    end
    write(stored, with(stored, fields, gone))
    return 'ok'
  end

  local function remove(space, id, declaredBy)
    local stored = read(space, id)
    if not stored or (declaredBy ~= nil and stored.declaredBy ~= given(declaredBy)) then return false end
    local member = dueMember(stored)
    if member then redis.call('ZREM', ${K.due}, member) end
    redis.call('ZREM', ${K.due}, 'i' .. space .. '\\0' .. id)
    redis.call('HDEL', ${K.schedules}, space .. '\\0' .. id)
    return true
  end

  local function pause(space, id, reason, by, now)
    local stored = read(space, id)
    if not stored then return false end
    if not stored.pausedAt then
      write(stored, with(stored, { pausedAt = now, pauseReason = given(reason), pausedBy = given(by), updatedAt = now }))
    end
    return true
  end

  local function resume(call, now)
    local stored = read(call.space, call.id)
    if not stored then return 'refused' end
    if not stored.pausedAt then return 'unchanged' end
    if not isAt(stored, call.expect) then return 'refused' end
    local nextAt = given(call.nextAt)
    local gone = { 'pausedAt', 'pauseReason', 'pausedBy' }
    if not nextAt then gone[#gone + 1] = 'nextAt' end
    write(stored, with(stored, { nextAt = nextAt, updatedAt = now }, gone))
    return 'ok'
  end

  local function due(call, now)
    local known, except = {}, {}
    for _, id in ipairs(call.known) do known[id] = true end
    for _, id in ipairs(call.except) do except[id] = true end
    local prefix = 'd' .. call.space .. '\\0'
    local from, found = '[' .. prefix, {}
    while true do
      local page = redis.call('ZRANGEBYLEX', ${K.due}, from, '(' .. prefix .. '\\255', 'LIMIT', 0, 100)
      for _, member in ipairs(page) do
        local moment, id = numAt(member, #prefix + 1), sub(member, #prefix + 9)
        local text = redis.call('HGET', ${K.schedules}, call.space .. '\\0' .. id)
        if not except[id] and (known[id] or not cjson.decode(text).dynamic) then
          if moment > now then return { now, found, moment } end
          found[#found + 1] = text
          if #found >= call.limit then return { now, found, '' } end
        end
      end
      if #page < 100 then return { now, found, '' } end
      from = '(' .. page[100]
    end
  end

  local function fire(call, now)
    local stored = read(call.space, call.id)
    if not stored then return { 'gone' } end
    if stored.revision ~= call.revision then return { 'changed' } end
    if stored.nextAt ~= call.slot then return { 'moved' } end
    if stored.pausedAt then return { 'paused' } end
    if call.upTo > now then return { 'early' } end

    local last = stored.lastJobId and #call.jobs > 0 and find(idOf(stored.lastJobId), tagFor(call.space)) or nil
    if last and FINAL[last.state] then last = nil end
    local isSkipped = last ~= nil and call.overlap == 'skip'
    local isReplaced = last ~= nil and call.overlap == 'replace'
    local replaced = ''
    if isReplaced then
      replaced = { last.id, last.state == 'running' and 1 or 0 }
      local cancel = { action = 'cancel', space = nameOf(last.q).space, failure = call.failure, keepMs = call.keepMs, reason = call.reason }
      use('changing').one(last, cancel, now, {})
    end
    local inserted, lastId = {}, nil
    if not isSkipped then
      for i, job in ipairs(call.jobs) do
        local state, moment = insertOne(draftOf(job), false, false, now)
        inserted[i] = { job.id, state and moment or now }
        lastId = job.id
      end
    end
    local changes = { skipped = stored.skipped + call.skipped + (isSkipped and 1 or 0) }
    local nextAt = given(call.nextAt)
    changes.nextAt = nextAt
    if lastId then
      changes.lastSlot, changes.lastFiredAt, changes.lastJobId, changes.fired = call.upTo, now, lastId, stored.fired + #inserted
    end
    write(stored, with(stored, changes, not nextAt and { 'nextAt' } or nil))
    return { 'fired', inserted, replaced }
  end

  return { put = put, remove = remove, pause = pause, resume = resume, due = due, fire = fire, read = read }
end

modules.putSchedules = function()
  return function(args, now)
    return forEach(cjson.decode(args[1]), function(draft) return use('schedules').put(draft, now) end)
  end
end
modules.removeSchedules = function()
  return function(args)
    local call, removed = cjson.decode(args[1]), {}
    for _, id in ipairs(call.ids) do
      if use('schedules').remove(call.space, id, call.declaredBy) then removed[#removed + 1] = id end
    end
    return removed
  end
end
modules.pauseSchedules = function()
  return function(args, now)
    local call, paused = cjson.decode(args[1]), {}
    for _, id in ipairs(call.ids) do
      if use('schedules').pause(call.space, id, call.reason, call.by, now) then paused[#paused + 1] = id end
    end
    return paused
  end
end
modules.resumeSchedules = function()
  return function(args, now)
    return forEach(cjson.decode(args[1]), function(call) return use('schedules').resume(call, now) end)
  end
end
modules.getSchedules = function()
  return function(args, now)
    local call = cjson.decode(args[1])
    local found = forEach(call.ids, function(id) return redis.call('HGET', ${K.schedules}, call.space .. '\\0' .. id) or '' end)
    return { now, found }
  end
end
modules.listSchedules = function()
  return function(args)
    local call, found, cursor = cjson.decode(args[1]), {}, ''
    local prefix = 'i' .. call.space .. '\\0'
    local from = call.cursor and '(' .. prefix .. call.cursor or '[' .. prefix
    while true do
      local page = redis.call('ZRANGEBYLEX', ${K.due}, from, '(' .. prefix .. '\\255', 'LIMIT', 0, 200)
      for _, member in ipairs(page) do
        local id = sub(member, #prefix + 1)
        local text = redis.call('HGET', ${K.schedules}, call.space .. '\\0' .. id)
        if not call.declaredBy or cjson.decode(text).declaredBy == call.declaredBy then
          if #found == call.limit then return { found, cursor } end
          found[#found + 1] = text
          cursor = id
        end
      end
      if #page < 200 then return { found, '' } end
      from = '(' .. page[200]
    end
  end
end
modules.dueSchedules = function()
  return function(args, now) return use('schedules').due(cjson.decode(args[1]), now) end
end
modules.fireSchedules = function()
  return function(args, now)
    local results = forEach(cjson.decode(args[1]), function(call) return use('schedules').fire(call, now) end)
    return { results, enqueued(now) }
  end
end
`
