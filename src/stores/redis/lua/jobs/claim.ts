import { K } from '../../keys.ts'

/**
 * claim: ARGV token, worker, lease, limit, flags ("a" again, "f" if the ids go first), ids (16 bytes each, or "-"), then for each source space,
 * queue, limit; after the limit, if it is about a range of keys, its first slice and the one before which it ends. Answers the time, when to look again or "", which sources are limited, and for each source with jobs its
 * place in the call and the jobs in one text, each as id, length and record.
 */
export const CLAIM: string = `
modules.claim = function()
  local pack = struct.pack
  local function heldUntil(space, queue, now)
    if redis.call('HLEN', ${K.holds}) == 0 then return 0 end
    return use('holds').endOf(space, queue, now)
  end

  local function nextDue(q)
    local first = beginning(${K.delayed}, q4(q), 1)[1]
    return first and numAt(first, 5) or NEVER
  end

  -- Makes delayed jobs ready whose time has come. Returns when the next one is due.
  local PROMOTE = 1000
  local function promote(q, now)
    local due = nextDue(q)
    if due > now then return due end
    local prefix = q4(q)
    local members = redis.call('ZRANGEBYLEX', ${K.delayed}, '[' .. prefix, '(' .. prefix .. num(now + 1), 'LIMIT', 0, PROMOTE)
    local ids, places = {}, {}
    for i, member in ipairs(members) do ids[i] = sub(member, 13) end
    redis.call('ZREMRANGEBYLEX', ${K.delayed}, '[' .. members[1], '[' .. members[#members])
    local jobs, later, ages = {}, {}, {}
    local place, together = '', {}
    local function lineUp()
      use('sheets').lineUp(place, together, not isLimited(q))
      together = {}
    end
    for i, record in ipairs(ask('HMGET', ${K.jobs}, keysIn(q, ids))) do
      local job = readRecord(ids[i], record)
      jobs[i] = job
      local member = readyMember(job)
      addAges(ages, job, 0)
      if job.x.l then
        later[#later + 1] = laterMember(job)
        places[#places + 1], places[#places + 2] = 0, member
      else
        -- Those that are due at the same moment come one after the other, by id, unless something else says where they stand.
        local isApart = job.x.p or job.x.s
        if isApart or sub(member, 1, 13) ~= place then lineUp() end
        place = sub(member, 1, 13)
        together[#together + 1] = job.id
        if isApart then lineUp() end
      end
    end
    lineUp()
    send('ZADD', ${K.ready}, places)
    send('ZREM', ${K.later}, later)
    send('ZADD', ${K.ages}, ages)
    for _, job in ipairs(jobs) do changed(job, 'delayed', 'ready', now) end
    return nextDue(q)
  end

  -- Whether the key of a lane is in a range.
  local function isIn(lane, first, stop)
    if lane == '' then return first == 0 end
    local slice = use('lines').sliceOf(lane)
    return slice >= first and slice < stop
  end

  -- The named jobs of a queue, as far as they are due and in the range if there is one, taken out of line.
  local function named(q, ids, room, first, stop, now)
    local taken, seen = {}, {}
    for _, id in ipairs(ids) do
      local job = not seen[id] and #taken < room and find(id, tagOf(q))
      seen[id] = true
      if job and job.q == q and (job.state == 'ready' or job.state == 'delayed') and dueOf(job) <= now then
        local isMine = not first or isIn(job.x.l or '', first, stop)
        if isMine and (not isLimited(q) or use('lines').takeNamed(job, now)) then
          leave(job)
          if job.state == 'delayed' then
            count(q, 'delayed', -1)
            count(q, 'ready', 1)
          end
          taken[#taken + 1] = id
        end
      end
    end
    return taken
  end

  -- Those of the named jobs that wait in a queue without limits, by their ranks, taken out of line; and their records.
  local function ahead(q, ids, room, now)
    local jobs, others, arriving = {}, {}, use('sheets').arrivingIn(q)
    for _, id in ipairs(ids) do
      local record = arriving[id]
      if record then jobs[#jobs + 1] = { id = id, record = record, rank = now } else others[#others + 1] = id end
    end
    for i, record in ipairs(ask('HMGET', ${K.jobs}, keysIn(q, others))) do
      local job = record and readRecord(others[i], record)
      if job and job.q == q then
        job.record, job.rank = record, rankOf(job)
        jobs[#jobs + 1] = job
      end
    end
    -- Those that have just come all have one rank, and are in order.
    if #others > 0 then
      table.sort(jobs, function(a, b) return a.rank < b.rank or (a.rank == b.rank and isBefore(a.id, b.id)) end)
    end
    local taken, records = {}, {}
    for _, job in ipairs(jobs) do
      if #taken == room then break end
      local isNew = arriving[job.id] ~= nil
      local member = not isNew and readyMember(job)
      if isNew or redis.call('ZREM', ${K.ready}, member) == 1 or (not job.x.l and use('sheets').take(member)) then
        arriving[job.id] = nil
        taken[#taken + 1] = job.id
        records[#records + 1] = job.record
      end
    end
    return taken, records
  end

  -- What the token of an earlier claim holds, with leases that begin anew.
  local function anew(q, token, leaseMs, now)
    local value = redis.call('HGET', ${K.claims}, claimName(token, q))
    if not value then return {} end
    local ids, held = {}, {}
    for _, one in ipairs(lasting(q, claimIn(value), token)) do
      ids[#ids + 1] = one.id
      held[#held + 1] = one.id .. tagOf(q)
      held[#held + 1] = leaseOf(now + leaseMs, q, one.mark, token)
    end
    send('HSET', ${K.held}, held)
    if #ids > 0 then lower(token, q, now + leaseMs) end
    return ids
  end

  local function byRank(ids, records)
    local jobs = {}
    for i, id in ipairs(ids) do jobs[i] = { id = id, record = records[i], rank = rankOf(readRecord(id, records[i])) } end
    table.sort(jobs, function(a, b) return a.rank < b.rank or (a.rank == b.rank and isBefore(a.id, b.id)) end)
    return jobs
  end

  return function(args, now)
    local token, worker, leaseMs, limit = args[1], args[2], tonumber(args[3]), tonumber(args[4])
    local again = args[5] == 'a'
    local ids, leading
    if args[6] ~= '-' then
      ids = {}
      for at = 1, #args[6], 16 do ids[#ids + 1] = sub(args[6], at, at + 15) end
      if args[5] == 'f' then ids, leading = nil, ids end
    end

    if not leading and loaded.sheets then loaded.sheets.settleIn() end

    local found, limitedAt, soonest, total = {}, {}, NEVER, 0
    local source = 0
    for at = 7, #args, 3 do
      local space, queue, most = args[at], args[at + 1], tonumber(args[at + 2])
      local firstSlice, stop
      if not most then
        most, firstSlice, stop = string.match(args[at + 2], '(%d+) (%d+) (%d+)')
        most, firstSlice, stop = tonumber(most), tonumber(firstSlice), tonumber(stop)
      end
      local q = numberOf(space, queue)
      local room = max(0, min(most, limit - total))
      local isHeldUntil = again and 0 or heldUntil(space, queue, now)
      if q and isLimited(q) then limitedAt[#limitedAt + 1] = source end
      if isHeldUntil > 0 then soonest = min(soonest, isHeldUntil)
      elseif q then
        local taken, records, due
        if again then taken = anew(q, token, leaseMs, now)
        elseif ids then taken = named(q, ids, room, firstSlice, stop, now)
        else
          due = promote(q, now)
          if isLimited(q) then
            local startsAt
            taken, startsAt, records = use('lines').serve(q, room, firstSlice, stop, now)
            soonest = min(soonest, startsAt)
          elseif room > 0 and (not firstSlice or isIn('', firstSlice, stop)) then
            if leading then taken, records = ahead(q, leading, room, now) else taken = {} end
            use('sheets').settleIn(q)
            if #taken == 0 then taken, records = use('sheets').first(q4(q), room), nil
            elseif #taken < room then
              local others = use('sheets').first(q4(q), room - #taken)
              local more = #others > 0 and ask('HMGET', ${K.jobs}, keysIn(q, others)) or {}
              for i, id in ipairs(others) do
                taken[#taken + 1] = id
                records[#taken] = more[i]
              end
            end
          else taken = {} end
        end
        local list = {}
        if #taken > 0 then
          records = records or ask('HMGET', ${K.jobs}, keysIn(q, taken))
          if again then
            for _, job in ipairs(byRank(taken, records)) do
              list[#list + 1] = pack('>c16I4', job.id, #job.record)
              list[#list + 1] = job.record
            end
          else
            local marks, there, ages = {}, {}, {}
            local isInLine = not ids and not isLimited(q)
            for i, id in ipairs(taken) do
              local record = records[i]
              -- A record that is missing was thrown away by the server, or by somebody. The others go on.
              if record then
                there[#there + 1] = id
                marks[#marks + 1] = byte(record, 1)
                if marks[#marks] % 4 >= 2 then releaseKey(readRecord(id, record), true) end
                if isInLine then addAgesIn(ages, id, record) end
                list[#list + 1] = pack('>c16I4', id, #record)
                list[#list + 1] = record
              else count(q, 'ready', -1) end
            end
            taken = there
            send('ZREM', ${K.ages}, ages)
            lease(q, taken, marks, token, worker, now, now + leaseMs)
          end
          found[#found + 1] = source
          found[#found + 1] = table.concat(list)
          total = total + #taken
        end
        soonest = min(soonest, due or nextDue(q))
        if not again and isLimited(q) then soonest = min(soonest, use('lines').nextWake(q)) end
      end
      source = source + 1
    end
    local lookAgain = total < limit and soonest < NEVER and soonest or ''
    return { now, lookAgain, limitedAt, found }
  end
end
`
