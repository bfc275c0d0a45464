import { K } from '../../keys.ts'

/** How many jobs a sheet has at most. A claim that takes some of them writes the rest anew. */
export const SHEET = 32

/**
 * A sheet is one member of `ready` for several jobs: those of one queue and moment, without a lane, with rising ids.
 *
 *   q NUL place id id id …
 *
 * No other ready job of the queue stands between the first and the last of a sheet, so all that is ready is in the order of
 * members, and a job is in the last member that does not begin after it.
 */
export const SHEETS: string = `
modules.sheets = function()
  -- Behind every member that begins with what stands before it.
  local END = string.rep('\\255', 17)

  -- Cuts a sheet in two where an id stands or would stand, and leaves the id out.
  local function cut(sheet, id)
    local at = 14
    while at < #sheet and isBefore(sub(sheet, at, at + 15), id) do at = at + 16 end
    local rest = sub(sheet, at, at + 15) == id and at + 16 or at
    redis.call('ZREM', ${K.ready}, sheet)
    if at > 14 then redis.call('ZADD', ${K.ready}, 0, sub(sheet, 1, at - 1)) end
    if rest < #sheet then redis.call('ZADD', ${K.ready}, 0, sub(sheet, 1, 13) .. sub(sheet, rest)) end
  end

  -- Takes a job out that is no member by itself. False if it is in no sheet either.
  local function take(member)
    local sheet = redis.call('ZREVRANGEBYLEX', ${K.ready}, '[' .. member .. END, '[' .. sub(member, 1, 13), 'LIMIT', 0, 1)[1]
    local id = sub(member, 14)
    for at = 14, sheet and #sheet or 0, 16 do
      if sub(sheet, at, at + 15) == id then
        cut(sheet, id)
        return true
      end
    end
    return false
  end

  -- Before a job is put in line: no sheet may reach over its place.
  local function part(member)
    local sheet = redis.call('ZREVRANGEBYLEX', ${K.ready}, '(' .. member, '[' .. sub(member, 1, 13), 'LIMIT', 0, 1)[1]
    if sheet and #sheet > 29 and isBefore(sub(member, 14), sub(sheet, -16)) then cut(sheet, sub(member, 14)) end
  end

  -- Puts jobs in line that have one place: as sheets if they are in order and nobody stands between them.
  local function lineUp(place, ids, inOrder)
    if #ids == 0 then return end
    local before = inOrder and redis.call('ZREVRANGEBYLEX', ${K.ready}, '(' .. place .. ids[#ids], '[' .. place, 'LIMIT', 0, 1)[1]
    local size = inOrder and (not before or isBefore(sub(before, -16), ids[1])) and ${SHEET} or 1
    local members = {}
    for at = 1, #ids, size do
      local member = place .. table.concat(ids, '', at, min(at + size - 1, #ids))
      if size == 1 then part(member) end
      members[#members + 1], members[#members + 2] = 0, member
    end
    send('ZADD', ${K.ready}, members)
  end

  -- Makes the first so many jobs in a range members by themselves.
  local function spread(from, to, most)
    local n = 0
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K.ready}, from, to, 'LIMIT', 0, most)) do
      if n >= most then return end
      n = n + (#member - 13) / 16
      if #member > 29 then
        local alone = {}
        for at = 14, #member, 16 do alone[#alone + 1], alone[#alone + 2] = 0, sub(member, 1, 13) .. sub(member, at, at + 15) end
        redis.call('ZREM', ${K.ready}, member)
        redis.call('ZADD', ${K.ready}, unpack(alone))
      end
    end
  end

  -- Members of a range with so many jobs or a few more, as far as there are any; and whether these were all.
  local function members(low, high, most)
    local found, n, asked = {}, 0, math.ceil(most / ${SHEET})
    while true do
      local page = redis.call('ZRANGEBYLEX', ${K.ready}, low, high, 'LIMIT', 0, asked)
      for _, member in ipairs(page) do
        if n >= most then return found, false end
        found[#found + 1] = member
        n = n + (byte(member, 5) == 0 and (#member - 13) / 16 or 1)
      end
      if #page < asked then return found, true end
      if n >= most then return found, false end
      low, asked = '(' .. page[#page], min(4 * asked, most - n)
    end
  end

  -- The ids of jobs in a range, and where each of them stands in its queue; from behind a cursor on, if there is one.
  local function list(prefix, low, high, cursor, most)
    local ids, places = {}, {}
    local function add(member, after)
      if byte(member, 5) ~= 0 then
        ids[#ids + 1], places[#places + 1] = sub(member, -16), sub(member, 5)
        return
      end
      local place = sub(member, 5, 13)
      for at = 14, #member, 16 do
        local id = sub(member, at, at + 15)
        if not after or isBefore(after, id) then ids[#ids + 1], places[#places + 1] = id, place .. id end
      end
    end
    if cursor ~= '' then
      low = '(' .. prefix .. cursor .. END
      local place = prefix .. sub(cursor, 1, 9)
      local sheet = byte(cursor) == 0 and redis.call('ZREVRANGEBYLEX', ${K.ready}, '[' .. prefix .. cursor .. END, '[' .. place, 'LIMIT', 0, 1)[1]
      if sheet then add(sheet, sub(cursor, 10)) end
    end
    local found, isEnd = members(low, high, most)
    for _, member in ipairs(found) do add(member) end
    return ids, places, isEnd
  end

  -- Takes the first jobs of a queue without lanes out of line.
  local function first(prefix, room)
    local found = members('[' .. prefix .. '\\0', '(' .. prefix .. '\\1', room)
    if #found == 0 then return {} end
    local ids, n, rest = {}, 0, nil
    for _, member in ipairs(found) do
      for at = 14, #member, 16 do
        if n == room then
          rest = sub(member, 1, 13) .. sub(member, at)
          break
        end
        n = n + 1
        ids[n] = sub(member, at, at + 15)
      end
    end
    redis.call('ZREMRANGEBYLEX', ${K.ready}, '[' .. found[1], '[' .. found[#found])
    if rest then redis.call('ZADD', ${K.ready}, 0, rest) end
    return ids
  end

  -- Jobs that came in this call and are not in line yet, by queue: who claims in the same call mostly takes them at once.
  local arriving = {}

  -- written: the ids and records of new jobs without a lane that are ready from now on.
  local function arrive(q, written)
    local records = arriving[q] or {}
    arriving[q] = records
    for i = 1, #written, 2 do records[written[i]] = written[i + 1] end
  end

  local function arrivingIn(q) return arriving[q] or {} end

  -- Puts those in line that nobody took; of one queue, or of all.
  local function settleIn(only)
    for q, records in pairs(arriving) do
      if not only or only == q then
        local ids, place = {}, nil
        for id, record in pairs(records) do
          ids[#ids + 1] = id
          place = place or q4(q) .. '\\0' .. num((struct.unpack('>I6', record, 6)))
        end
        table.sort(ids, isBefore)
        if place then lineUp(place, ids, true) end
        arriving[q] = nil
      end
    end
  end

  return { arrive = arrive, arrivingIn = arrivingIn, settleIn = settleIn, take = take, part = part, lineUp = lineUp, spread = spread, list = list, first = first }
end
`
