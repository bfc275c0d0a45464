import { K } from '../../keys.ts'

/**
 * Notes: `core/notes.ts` over hashes. The lines of a job have places without gaps, from the first that is kept to the last,
 * so they are found without an index. Progress and lines are JSON that nobody reads here.
 *
 * note: ARGV JSON, a list of { space, id, token, progress: { n, text }, lines: { n, bytes, text }[] }. notes: ARGV space, id,
 * after, limit; answers progress, the last place, how many were dropped, and place and text of each line.
 */
export const NOTES: string = `
modules.notes = function()
  local MOST_LINES, MOST_BYTES, KEPT, STEP_MS = 1000, 262144, 604800000, 3600000

  local function headOf(key)
    local text = redis.call('HGET', ${K.notes}, key)
    return text and cjson.decode(text)
  end

  local function forgetFrom(key, head)
    redis.call('ZREM', ${K['notes:end']}, num(head.till) .. key)
  end

  local function write(key, token, note, now)
    local job = findKey(key)
    if not job then return 'gone' end
    local mine = job.lease and job.lease.token or job.x.t
    if mine ~= token then return 'lost' end
    local head = headOf(key)
    if head then forgetFrom(key, head)
    else head = { first = 1, last = 0, bytes = 0, dropped = 0, lineN = 0, progressN = 0 } end
    if head.token ~= token then head.token, head.lineN, head.progressN = token, 0, 0 end
    local added = {}
    for _, line in ipairs(note.lines) do
      if line.n > head.lineN then
        head.dropped = head.dropped + line.n - head.lineN - 1
        head.lineN = line.n
        head.last = head.last + 1
        added[#added + 1] = key .. num(head.last)
        added[#added + 1] = num(head.bytes) .. line.text
        head.bytes = head.bytes + line.bytes
      end
    end
    if note.progress and note.progress.n > head.progressN then
      head.progressN, head.progress = note.progress.n, note.progress.text
    end
    send('HSET', ${K['lines:log']}, added)
    while head.first <= head.last do
      local field = key .. num(head.first)
      if head.first > head.last - MOST_LINES and numAt(redis.call('HGET', ${K['lines:log']}, field), 1) >= head.bytes - MOST_BYTES then break end
      redis.call('HDEL', ${K['lines:log']}, field)
      head.first, head.dropped = head.first + 1, head.dropped + 1
    end
    head.till = (floor((now + KEPT) / STEP_MS) + 1) * STEP_MS
    redis.call('HSET', ${K.notes}, key, cjson.encode(head))
    redis.call('ZADD', ${K['notes:end']}, 0, num(head.till) .. key)
    return ''
  end

  local function remove(key)
    local head = headOf(key)
    if not head then return end
    local fields = {}
    for place = head.first, head.last do fields[#fields + 1] = key .. num(place) end
    send('HDEL', ${K['lines:log']}, fields)
    redis.call('HDEL', ${K.notes}, key)
    forgetFrom(key, head)
  end

  local function prune(now)
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K['notes:end']}, '-', '(' .. num(now + 1), 'LIMIT', 0, 1000)) do
      remove(sub(member, 9))
    end
  end

  local function read(key, after, limit)
    local head = headOf(key)
    if not head then return {} end
    local fields, lines = {}, {}
    for place = max(head.first, after + 1), min(head.last, max(head.first, after + 1) + limit - 1) do
      fields[#fields + 1] = key .. num(place)
    end
    for i, value in ipairs(ask('HMGET', ${K['lines:log']}, fields)) do
      lines[#lines + 1] = numAt(fields[i], #key + 1)
      lines[#lines + 1] = sub(value, 9)
    end
    return { head.progress or '', head.last, head.dropped, lines }
  end

  return { write = write, remove = remove, prune = prune, read = read }
end
modules.note = function()
  return function(args, now)
    local results = {}
    for i, note in ipairs(cjson.decode(args[1])) do
      results[i] = use('notes').write(idOf(note.id) .. tagFor(note.space), note.token, note, now)
    end
    return results
  end
end
modules.readNotes = function()
  return function(args)
    return use('notes').read(args[2] .. tagFor(args[1]), tonumber(args[3]), tonumber(args[4]))
  end
end
`
