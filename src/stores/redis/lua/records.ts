import { K } from '../keys.ts'

/**
 * Records of `store/records.ts`; the records of jobs are in `lua/records.ts`. The name of one is scope NUL kind NUL id. Its value
 * is when it ends (8 bytes, NEVER if it does not), when it was written (8 bytes), the length of its revision (2 bytes), the
 * revision, and the body.
 *
 * putRecords: ARGV scope, kind, and five for each: id, body, revision, when it ends ("" for never), and what is expected ("" for
 * anything, "-" for none, "=" and a revision). getRecords, removeRecords: ARGV scope, kind and ids. listRecords: ARGV scope,
 * kind, limit, "1" for backwards, "[" and the first id ("" for all), "(" and the id before which it ends ("" for all).
 */
export const DOCUMENTS: string = `
modules.documents = function()
  local function placeOf(args) return args[1] .. '\\0' .. args[2] .. '\\0' end

  local function read(name, now)
    local value = redis.call('HGET', ${K.records}, name)
    if not value then return nil end
    local ends, length = numAt(value, 1), struct.unpack('>I2', sub(value, 17, 18))
    return {
      ends = ends, lives = ends > now, written = numAt(value, 9),
      revision = sub(value, 19, 18 + length), body = sub(value, 19 + length)
    }
  end

  local function remove(name, ends)
    redis.call('HDEL', ${K.records}, name)
    redis.call('ZREM', ${K['records:index']}, name)
    if ends ~= NEVER then redis.call('ZREM', ${K['records:end']}, num(ends) .. name) end
  end

  local function write(name, body, revision, ends, known, now)
    if known and known.ends ~= NEVER then redis.call('ZREM', ${K['records:end']}, num(known.ends) .. name) end
    redis.call('HSET', ${K.records}, name, num(ends) .. num(now) .. struct.pack('>I2', #revision) .. revision .. body)
    redis.call('ZADD', ${K['records:index']}, 0, name)
    if ends ~= NEVER then redis.call('ZADD', ${K['records:end']}, 0, num(ends) .. name) end
  end

  local function put(args, now)
    local place, results, all, isRefused = placeOf(args), {}, {}, false
    for at = 3, #args, 5 do
      local name, revision, expected = place .. args[at], args[at + 2], args[at + 4]
      local known = read(name, now)
      local stored = known and known.lives and '=' .. known.revision or '-'
      local isFit = expected == '' or stored == expected or stored == '=' .. revision
      if not isFit then isRefused = true end
      results[#results + 1] = isFit and 1 or 0
      all[#all + 1] = { name, args[at + 1], revision, tonumber(args[at + 3]) or NEVER, known }
    end
    if isRefused then return results end
    for _, one in ipairs(all) do write(one[1], one[2], one[3], one[4], one[5], now) end
    return results
  end

  local function shown(id, record)
    return { id, record.body, record.revision, record.ends ~= NEVER and record.ends or '', record.written }
  end

  local function list(args, now)
    local place, limit, isBackwards = placeOf(args), tonumber(args[3]), args[4] == '1'
    local first = args[5] ~= '' and '[' .. place .. sub(args[5], 2) or '[' .. place
    local last = args[6] ~= '' and '(' .. place .. sub(args[6], 2) or '(' .. place .. '\\255'
    local command, found = isBackwards and 'ZREVRANGEBYLEX' or 'ZRANGEBYLEX', {}
    while true do
      local from, till = first, last
      if isBackwards then from, till = last, first end
      -- One more than is wanted tells whether there are others.
      local page = redis.call(command, ${K['records:index']}, from, till, 'LIMIT', 0, limit + 1)
      for _, name in ipairs(page) do
        local record = read(name, now)
        if record.lives then
          if #found == limit then return { found, 1 } end
          found[#found + 1] = shown(sub(name, #place + 1), record)
        end
      end
      if #page <= limit then return { found, 0 } end
      local beyond = '(' .. page[#page]
      if isBackwards then last = beyond else first = beyond end
    end
  end

  local function prune(limit, now)
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K['records:end']}, '-', '(' .. num(now + 1), 'LIMIT', 0, limit)) do
      remove(sub(member, 9), numAt(member, 1))
    end
  end

  return { placeOf = placeOf, read = read, remove = remove, put = put, list = list, shown = shown, prune = prune }
end
modules.putRecords = function()
  return function(args, now) return use('documents').put(args, now) end
end
modules.getRecords = function()
  return function(args, now)
    local documents, found = use('documents'), {}
    for at = 3, #args do
      local record = documents.read(documents.placeOf(args) .. args[at], now)
      found[at - 2] = record and record.lives and documents.shown(args[at], record) or ''
    end
    return found
  end
end
modules.listRecords = function()
  return function(args, now) return use('documents').list(args, now) end
end
modules.removeRecords = function()
  return function(args, now)
    local documents, removed = use('documents'), {}
    for at = 3, #args do
      local name = documents.placeOf(args) .. args[at]
      local record = documents.read(name, now)
      if record then
        documents.remove(name, record.ends)
        if record.lives then removed[#removed + 1] = args[at] end
      end
    end
    return removed
  end
end
`
