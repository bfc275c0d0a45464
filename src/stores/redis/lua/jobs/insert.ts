import { K } from '../../keys.ts'

/**
 * insert: ARGV flags ("f" fresh, "a" again, "s" the ids of each piece rise), groups and runs as JSON or "", a channel and what to publish there or "", how many
 * queues, their spaces and names, then pieces in the order of the jobs: a queue (from 1), jobs, more. Where more is "", the
 * jobs are plain ones, each as id, length and payload. Where it is "=" they are ready at once, without a lane, a key or a priority,
 * and are records without the queue and the time. Otherwise it is one job, and more is JSON. Answers the time and, for
 * what is not simply ready now, the place in the call with what became of it.
 */
export const INSERT: string = `
modules.insert = function()
  -- Which of the jobs cannot be, because jobs of other queues have their ids. Nothing is written.
  local function takenIn(args)
    local jobs = {}
    for at = 6 + 2 * tonumber(args[5]), #args, 3 do
      local place = 4 + 2 * tonumber(args[at])
      local tag, queue, data = tagFor(args[place]), args[place + 1], args[at + 1]
      local isOne, from = args[at + 2] ~= '' and args[at + 2] ~= '=', 1
      while from <= #data do
        jobs[#jobs + 1] = { id = sub(data, from, from + 15), tag = tag, queue = queue }
        from = isOne and #data + 1 or from + 20 + struct.unpack('>I4', data, from + 16)
      end
    end
    return takenBy(jobs)
  end

  return function(args, now)
    local fresh = string.find(args[1], 'f', 1, true) ~= nil
    local again = string.find(args[1], 'a', 1, true) ~= nil
    local inOrder = string.find(args[1], 's', 1, true) ~= nil
    local made, known = args[2] ~= '' and cjson.decode(args[2]), nil
    if not fresh then
      local takenRuns = made and use('groups').takenRuns(made.runs) or {}
      if #takenRuns > 0 then return { now, 'taken runs', takenRuns } end
      local taken = takenIn(args)
      if #taken > 0 then return { now, 'taken', taken } end
    end
    if made then known = use('groups').make(made, now) end
    local queues = tonumber(args[5])
    local numbers = {}
    for i = 1, queues do numbers[i] = makeNumber(args[4 + 2 * i], args[5 + 2 * i]) end

    local n, special, seen = 0, {}, {}
    local function insertSlowly(job)
      local state, moment, action = insertOne(job, again, fresh, now)
      if state ~= 'ready' or moment ~= now or action then
        local at = #special
        special[at + 1], special[at + 2], special[at + 3], special[at + 4] = n, state or '', moment, action or ''
      end
    end

    local unpackJob = struct.unpack
    for at = 6 + 2 * queues, #args, 3 do
      local q, data, more = numbers[tonumber(args[at])], args[at + 1], args[at + 2]
      if more ~= '' and more ~= '=' then
        n = n + 1
        local sent = cjson.decode(more)
        insertSlowly({
          id = sub(data, 1, 16), q = q, payload = sub(data, 17), x = sent.x or {}, g = sent.g, delay = sent.delay or 0, runAt = sent.runAt, unique = sent.unique,
        })
      else
        local isEasy, isMarked = not again and not isLimited(q), more == '='
        local stands, place = struct.pack('>I4I6', q, now), q4(q) .. '\\0' .. num(now)
        local head, tag = '\\0' .. stands, tagOf(q)
        local records, ids, members = {}, {}, {}
        local function flush()
          send('HSET', ${K.jobs}, records)
          send('HSET', ${K.members}, members)
          use('sheets').lineUp(place, ids, inOrder)
          count(q, 'ready', #ids)
          records, ids, members = {}, {}, {}
        end
        local from, size = 1, #data
        while from <= size do
          local id, payload
          id, payload, from = unpackJob('>c16I4c0', data, from)
          n = n + 1
          local record = isMarked and sub(payload, 1, 1) .. stands .. sub(payload, 2) or head .. payload
          if isEasy and (fresh or (not seen[id] and redis.call('HEXISTS', ${K.jobs}, id .. tag) == 0 and redis.call('HEXISTS', ${K.archive}, id .. tag) == 0)) then
            if not fresh then seen[id] = true end
            records[#records + 1], records[#records + 2] = id .. tag, record
            ids[#ids + 1] = id
            local group, nth = memberIn(record)
            if group then members[#members + 1], members[#members + 2] = group .. q4(nth), 'j' .. id end
          else
            -- It may meet one of those that came before it.
            flush()
            local job = readRecord(id, record)
            job.delay = 0
            insertSlowly(job)
          end
        end
        flush()
      end
    end
    if args[4] ~= '' then redis.pcall('PUBLISH', args[3], args[4]) end
    return { now, special, enqueued(now), known or {} }
  end
end
`
