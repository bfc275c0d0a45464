import { K } from '../../keys.ts'

/**
 * A job that is shown: { id, state, record }, and of one that runs token, worker, when it started and until when.
 *
 * get: ARGV ids. list, count: ARGV the call as JSON, then the cursor. counts: ARGV a space, then queues; none means all.
 * expired: ARGV the call as JSON; answers shown jobs and whether each lease is over.
 */
export const READS: string = `
modules.listing = function()
  local SCAN = 500

  local function shown(job)
    if job.state ~= 'running' then return { job.id, job.state, recordOf(job) } end
    local claim = claimOf(job)
    return { job.id, job.state, recordOf(job), job.lease.token, claim.worker, claim.started, job.lease.till }
  end

  -- The leases that last, by start and then by the id of the job: calls back with each and where it stands, until told to stop.
  local function eachLease(q, cursor, visit)
    local prefix = q4(q)
    local from = cursor == '' and '[' .. prefix or '[' .. prefix .. sub(cursor, 1, 8)
    while true do
      local first = redis.call('ZRANGEBYLEX', ${K.started}, from, '(' .. prefix .. '\\255', 'LIMIT', 0, 1)[1]
      if not first then return end
      -- All claims that started in this moment, because their jobs are sorted together.
      local moment = sub(first, 5, 12)
      local leases = {}
      for _, member in ipairs(beginning(${K.started}, prefix .. moment, -1)) do
        local token = sub(member, 13)
        local claim = claimIn(redis.call('HGET', ${K.claims}, claimName(token, q)))
        for _, one in ipairs(lasting(q, claim, token)) do
          one.token = token
          leases[#leases + 1] = one
        end
      end
      table.sort(leases, function(a, b) return isBefore(a.id, b.id) end)
      for _, one in ipairs(leases) do
        local place = moment .. one.id
        if isBelow(cursor, place) and visit(one, place) then return end
      end
      from = '(' .. prefix .. moment .. '\\255'
    end
  end

  -- The jobs that run, in the same way.
  local function eachRunning(q, cursor, visit)
    eachLease(q, cursor, function(one, place)
      local job = readRecord(one.id, redis.call('HGET', ${K.jobs}, one.id .. tagOf(q)))
      job.state, job.lease = 'running', { till = one.till, q = q, mark = one.mark, token = one.token }
      return visit(job, place)
    end)
  end

  -- Where the jobs of a state other than running are: ready ones by lane, the others by time and by lane, so that none has to be
  -- looked for.
  local function rangeOf(q, state, where)
    if state == 'ready' then
      local lane = where.lane
      if not lane then return ${K.ready}, '[' .. q4(q), '(' .. q4(q) .. '\\255\\255' end
      return ${K.ready}, '[' .. q4(q) .. lane .. '\\0', '(' .. q4(q) .. lane .. '\\1'
    end
    local set, prefix = ${K.delayed}, q4(q)
    if FINAL[state] then set, prefix = ${K.ended}, prefix .. CODES[state] end
    if where.lane and where.lane ~= '' then
      set = FINAL[state] and ${K['ended:lanes']} or ${K.later}
      prefix = prefix .. where.lane .. '\\0'
    end
    local low, high = '[' .. prefix, '(' .. prefix .. '\\255\\255'
    if where.after then low = low .. num(where.after) end
    if where.before then high = '(' .. prefix .. num(where.before) end
    return set, low, high
  end

  -- The ids of so many jobs of another state, or of a few more, behind a cursor, and where each of them stands; and whether these were
  -- all. Finished ones come newest first.
  local function idsOf(q, state, where, cursor, step, oldestFirst)
    local set, low, high = rangeOf(q, state, where)
    if cursor ~= '' then
      if FINAL[state] and not oldestFirst then high = '(' .. q4(q) .. cursor else low = '(' .. q4(q) .. cursor end
    end
    if state == 'ready' then return use('sheets').list(q4(q), low, high, cursor, step) end
    local members, ids, places = nil, {}, {}
    if FINAL[state] and not oldestFirst then members = redis.call('ZREVRANGEBYLEX', set, high, low, 'LIMIT', 0, step)
    else members = redis.call('ZRANGEBYLEX', set, low, high, 'LIMIT', 0, step) end
    for i, member in ipairs(members) do ids[i], places[i] = sub(member, -16), sub(member, 5) end
    return ids, places, #members < step
  end

  -- The same as eachRunning for all other states. No more of them than 'most' are wanted, or nobody knows.
  local function eachOther(q, state, where, cursor, most, oldestFirst, visit)
    local step = most and min(most, SCAN) or SCAN
    while true do
      local ids, places, isEnd = idsOf(q, state, where, cursor, step, oldestFirst)
      for i, record in ipairs(ask('HMGET', FINAL[state] and ${K.archive} or ${K.jobs}, keysIn(q, ids))) do
        local job = readRecord(ids[i], record)
        job.state = state
        cursor = places[i]
        if visit(job, cursor) then return end
      end
      if isEnd then return end
      -- Some did not fit.
      step = SCAN
    end
  end

  local function timeOf(job)
    if job.state == 'ready' or job.state == 'delayed' then return dueOf(job) end
    return job.state == 'running' and claimOf(job).started or job.x.fi
  end

  local function fits(job, where)
    if where.lane and (job.x.l or '') ~= where.lane then return false end
    if where.after or where.before then
      local time = timeOf(job)
      if where.after and time < where.after or where.before and time >= where.before then return false end
    end
    if not where.text or string.find(job.payload, where.text, 1, true) then return true end
    return job.x.f ~= nil and string.find(job.x.f, where.text, 1, true) ~= nil
  end

  local function each(call, cursor, most, visit)
    local q = numberOf(call.space, call.queue)
    if not q then return end
    local where = call.where or {}
    local function check(job, place)
      if fits(job, where) then return visit(job, place) end
    end
    if call.state == 'running' then eachRunning(q, cursor, check) else eachOther(q, call.state, where, cursor, most, call.oldestFirst, check) end
  end

  -- One page of a selection: its jobs, and where the last of them stands.
  local function page(call, limit, cursor)
    local jobs, places = {}, {}
    each(call, cursor, limit, function(job, place)
      jobs[#jobs + 1], places[#places + 1] = job, place
      return #jobs >= limit
    end)
    return jobs, places[#places] or '', places
  end

  -- How many a selection has: by its range alone, where that says it all.
  local function total(call)
    local where, found = call.where or {}, 0
    local isRange = call.state ~= 'running' and not where.text
      and (call.state == 'ready' and not where.after and not where.before or call.state ~= 'ready' and where.lane ~= '')
    local q = numberOf(call.space, call.queue)
    if q and isRange and call.state == 'ready' and (where.lane or '') == '' then
      -- Several of them may be one member, but of the default lane alone.
      local all = tonumber(redis.call('HGET', ${K.counts}, q4(q) .. CODES.ready) or 0)
      return where.lane and all - redis.call('ZLEXCOUNT', ${K.ready}, '[' .. q4(q) .. '\\1', '(' .. q4(q) .. '\\255\\255') or all
    end
    if q and isRange then return redis.call('ZLEXCOUNT', rangeOf(q, call.state, where)) end
    each(call, '', nil, function()
      found = found + 1
      return call.limit and found >= call.limit
    end)
    return found
  end

  -- How many of the first jobs of a state fit, and how many were looked at.
  local function among(call, look)
    local where, found, looked = call.where or {}, 0, 0
    each({ space = call.space, queue = call.queue, state = call.state }, '', look, function(job)
      looked = looked + 1
      if fits(job, where) then found = found + 1 end
      return looked >= look
    end)
    return { found, looked }
  end

  -- The ids of one page of a state, and where the last of them stands; nothing if these were all.
  local function ids(q, state, cursor, limit)
    local found, places, isEnd = {}, {}, true
    if state == 'running' then
      eachLease(q, cursor, function(one, place)
        found[#found + 1], places[#places + 1] = one.id, place
        isEnd = #found < limit
        return not isEnd
      end)
    else
      found, places, isEnd = idsOf(q, state, {}, cursor, limit)
      if #found > limit then
        isEnd = false
        for i = #found, limit + 1, -1 do found[i] = nil end
      end
    end
    return found, isEnd and '' or places[#found]
  end

  return { shown = shown, page = page, total = total, among = among, ids = ids }
end

modules.get = function()
  return function(args)
    local found, space = {}, args[1]
    for i = 2, #args do
      local job = find(args[i], tagFor(space))
      found[i - 1] = job and use('listing').shown(job) or ''
      if job and found[i - 1] ~= '' then found[i - 1][8] = found[i - 1][8] end
    end
    local queues = {}
    for i = 2, #args do
      local job = found[i - 1] ~= '' and found[i - 1]
      queues[i - 1] = job and nameOf((struct.unpack('>I4', job[3], 2))).queue or ''
    end
    return { found, queues }
  end
end

modules.list = function()
  return function(args)
    local call = cjson.decode(args[1])
    local jobs, _, places = use('listing').page(call, call.limit + 1, args[2])
    local found = {}
    for i = 1, min(#jobs, call.limit) do found[i] = use('listing').shown(jobs[i]) end
    return { found, #jobs > call.limit and places[call.limit] or '' }
  end
end

modules.count = function()
  return function(args)
    local call = cjson.decode(args[1])
    if call.look then return use('listing').among(call, call.look) end
    return { use('listing').total(call) }
  end
end

modules.counts = function()
  -- The due time of the first ready job of a queue that has neither a lane nor a priority: its place. In front of it stand none but
  -- jobs that are in 'ages' by their place. So it is behind the members at the head that both sets have in common, and since
  -- 'ready' has all of 'ages', two members with one number are alike only if all before them are.
  local function firstByAge(q)
    local prefix, marked = q4(q) .. '\\0', q4(q) .. '\\255'
    local first = beginning(${K.ready}, prefix, 1)[1]
    if not first then return NEVER end
    local other = redis.call('ZRANGEBYLEX', ${K.ages}, '[' .. marked, '(' .. marked .. '\\255', 'LIMIT', 0, 1)[1]
    if not other or sub(other, 6) ~= sub(first, 6) then return numAt(first, 6) end
    local from, fromOther = redis.call('ZRANK', ${K.ready}, first), redis.call('ZRANK', ${K.ages}, other)
    local low, high = 1, redis.call('ZLEXCOUNT', ${K.ages}, '[' .. marked, '(' .. marked .. '\\255')
    local function at(key, place) return redis.call('ZRANGE', key, place, place)[1] or '' end
    -- Mostly all of them stand in front, so the end is looked at first.
    local middle = high
    while low < high do
      if sub(at(${K.ready}, from + middle - 1), 6) == sub(at(${K.ages}, fromOther + middle - 1), 6) then low = middle else high = middle - 1 end
      middle = math.ceil((low + high) / 2)
    end
    local member = at(${K.ready}, from + low)
    return sub(member, 1, 5) == prefix and numAt(member, 6) or NEVER
  end

  return function(args, now)
    local space, found = args[1], {}
    local queues = {}
    for i = 2, #args do queues[#queues + 1] = args[i] end
    if #queues == 0 then
      local prefix = space .. '\\0'
      for _, name in ipairs(redis.call('HKEYS', ${K.names})) do
        if sub(name, 1, #prefix) == prefix then queues[#queues + 1] = sub(name, #prefix + 1) end
      end
      table.sort(queues, isBelow)
    end
    for i, queue in ipairs(queues) do
      local q = numberOf(space, queue)
      local row = { queue, '', 0 }
      local fields = {}
      for code = 1, 7 do fields[code] = q and q4(q) .. code end
      local stored = q and redis.call('HMGET', ${K.counts}, unpack(fields)) or {}
      for code = 1, 7 do row[3 + code] = tonumber(stored[code] or 0) end
      if q then
        local oldest, first = NEVER, beginning(${K.ages}, q4(q), 1)[1]
        if first then oldest = numAt(first, 5) end
        oldest = min(oldest, firstByAge(q))
        local delayed = beginning(${K.delayed}, q4(q), 1)[1]
        if delayed and numAt(delayed, 5) <= now then
          oldest = min(oldest, numAt(delayed, 5))
          row[3] = redis.call('ZLEXCOUNT', ${K.delayed}, '[' .. q4(q), '(' .. q4(q) .. num(now + 1))
        end
        if oldest < NEVER then row[2] = oldest end
      end
      found[i] = row
    end
    return { now, found }
  end
end

-- How many jobs each queue of all spaces has in each state: space, counts.
modules.countAll = function()
  return function(args, now)
    local found, names = {}, redis.call('HGETALL', ${K.names})
    for i = 1, #names, 2 do
      local space = string.match(names[i], '^(%Z+)%z')
      local q, fields = space and tonumber(names[i + 1]), {}
      if q then
        for code = 1, 7 do fields[code] = q4(q) .. code end
        local row = { space }
        for code, jobs in ipairs(redis.call('HMGET', ${K.counts}, unpack(fields))) do row[1 + code] = tonumber(jobs or 0) end
        found[#found + 1] = row
      end
    end
    return { now, found }
  end
end

modules.expired = function()
  return function(args, now)
    local call, found = cjson.decode(args[1]), {}
    local function collect(q, token, isGone)
      local value = redis.call('HGET', ${K.claims}, claimName(token, q))
      local claim = claimIn(value)
      local leases, first = lasting(q, claim, token)
      -- A bound that is only too careful is put right, and the claim is met again where it belongs.
      if not isGone and first > claim.bound and first < NEVER then
        local prefix = q4(q)
        redis.call('ZREM', ${K.leases}, prefix .. num(claim.bound) .. token)
        redis.call('ZADD', ${K.leases}, 0, prefix .. num(first) .. token)
        claim.bound = first
        writeClaim(claimName(token, q), claim)
        return
      end
      for _, one in ipairs(leases) do
        if one.till <= now or isGone then
          found[#found + 1] = { id = one.id, till = one.till, q = q, token = token, worker = claim.worker, mark = one.mark, started = claim.started }
        end
      end
    end
    local function sort()
      table.sort(found, function(a, b) return a.till < b.till or (a.till == b.till and isBefore(a.id, b.id)) end)
    end
    for _, source in ipairs(call.sources) do
      local q = numberOf(source.space, source.queue)
      if q then
        local prefix = q4(q)
        local seen = {}
        for _, worker in ipairs(call.workerIds) do
          for _, member in ipairs(beginning(${K.tasks}, worker .. '\\0' .. prefix, -1)) do
            local token = sub(member, #worker + 6)
            seen[token] = true
            collect(q, token, true)
          end
        end
        -- In the order of their bounds, until no lease of a later claim can be among the first.
        local from = '[' .. prefix
        while true do
          local member = redis.call('ZRANGEBYLEX', ${K.leases}, from, '(' .. prefix .. num(now + 1), 'LIMIT', 0, 1)[1]
          if not member then break end
          if #found >= call.limit then
            sort()
            if numAt(member, 5) > found[call.limit].till then break end
          end
          from = '(' .. member
          local token = sub(member, 13)
          if not seen[token] then collect(q, token, false) end
        end
      end
    end
    sort()
    local shown = {}
    for i = 1, min(#found, call.limit) do
      local one = found[i]
      shown[i] = { one.id, 'running', redis.call('HGET', ${K.jobs}, keyOf(one)), one.token, one.worker, one.started, one.till, nameOf(one.q).space, nameOf(one.q).queue, one.till <= now and 1 or 0 }
    end
    return shown
  end
end
`
