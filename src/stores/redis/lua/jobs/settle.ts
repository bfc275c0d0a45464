import { K } from '../../keys.ts'

/**
 * settle: ARGV how many arguments are about settlements, then these in pieces:
 *
 *   "a"  space, token, ids one after the other, results (for each its length and 1, or 0 if there is none, and the text; "" if no job has
 *        one), how long they are kept or "": jobs that are done, and go away if they are not kept
 *   "n"  the same, then a space and a queue, and for each job the one that it enqueues there, as `lua/insert.ts` has it, before it
 *        "h" if it hands its place on and "-" if not
 *   ""   space, id, token, verdict as JSON ("" for done and away), result ("" or "=" and the text), more as JSON or ""
 *
 * Then the arguments of a claim, if there is one. Answers, for what is not simply done, its place and what became of it; what
 * was enqueued; and the answer of the claim.
 *
 * extend: ARGV how long, then for each lease space, id and token. Answers for each "" or why not, and why it shall stop.
 */
export const SETTLE: string = `
modules.settling = function()
  local COUNTERS = { errors = 'er', timeouts = 'ti', lost = 'lo', snoozes = 'sn' }

  local verdicts = {}
  local function verdictIn(text)
    local verdict = verdicts[text]
    if not verdict then
      verdict = text == '' and { to = 'done' } or cjson.decode(text)
      verdicts[text] = verdict
    end
    return verdict
  end

  -- Leases that ended, by claim; written once.
  local ended = {}
  local function ends(token, q)
    local name = claimName(token, q)
    local known = ended[name]
    if known then known.n = known.n + 1 else ended[name] = { token = token, q = q, n = 1 } end
  end
  -- Jobs that went away, by queue, token and state; remembered together.
  local left = {}
  local function leaves(q, id, token, state)
    local name = q .. token .. '\\0' .. state
    local known = left[name]
    if known then known.ids[#known.ids + 1] = id else left[name] = { q = q, token = token, state = state, ids = { id } } end
  end
  local function writeEnds(now)
    for _, one in pairs(ended) do unlease(one.token, one.q, one.n) end
    for _, one in pairs(left) do forget(one.q, one.ids, one.token, one.state, now) end
    ended, left = {}, {}
  end

  -- The token that an ended job keeps, which identifies the same settlement when it is repeated; nil if none does.
  local function keptToken(token, more)
    if more.rescue then return more.repeatToken end
    return token
  end

  -- Why a token does not hold its job now: the state to which this settlement brought it before, or nil and the reason.
  local function refused(id, tag, kept, now)
    writeEnds(now)
    local job = find(id, tag)
    if job and kept and job.state ~= 'running' and job.x.t == kept then return job.state end
    if not job then return kept and settledAway(id, tag, kept) or nil, 'gone' end
    return nil, FINAL[job.state] and 'gone' or 'lost'
  end

  local function applyToLane(job, verdict, now)
    local lane = job.x.l or ''
    if verdict.waitMs then use('lines').wait(job.q, lane, now + verdict.waitMs, now)
    else
      local name = nameOf(job.q)
      use('holds').put({ kind = 'pause', space = name.space, queue = name.queue, lane = lane, reason = verdict.pause, by = 'skep' }, now)
    end
  end

  -- Ends a lease that holds. Returns the state to which the job went.
  local function settleOne(id, tag, token, known, verdict, result, more, now)
    local job = readRecord(id, redis.call('HGET', ${K.jobs}, id .. tag))
    job.state, job.lease = 'running', known
    local claim = claimOf(job)
    local x = job.x
    if more.handsOn and job.g then use('groups').handOn(job) end
    local waits = verdict.to == 'ready' or verdict.to == 'delayed'
    local cancelled = waits and x.k ~= nil
    local to = cancelled and 'cancelled' or verdict.to
    local keepMs = verdict.keepMs
    if cancelled then keepMs = verdict.keepCancelledMs end
    redis.call('HDEL', ${K.held}, id .. tag)
    ends(token, job.q)

    x.t = keptToken(token, more)
    x.w, x.b = claim.worker, claim.started
    if not verdict.refund then x.st = (x.st or 0) + 1 end
    local counter = COUNTERS[verdict.count]
    if counter then x[counter] = (x[counter] or 0) + 1 end
    x.r = result
    if cancelled then x.f = '{"kind":"cancel","message":' .. quoted(x.k) .. '}'
    elseif verdict.failure then x.f = verdict.failure
    elseif to == 'done' then x.f = nil end

    if waits and not cancelled then
      if to == 'delayed' then setDue(job, now + verdict.delayMs)
      elseif not verdict.keepPlace then setDue(job, now) end
      wait(job, 'running', to, now)
    else
      if keepMs then keep(job, 'running', to, now, keepMs)
      else
        redis.call('HDEL', ${K.jobs}, id .. tag)
        changed(job, 'running', nil, now, { state = to, result = result, failure = verdict.failure })
        leaves(job.q, id, keptToken(token, more) or '', to)
        if more.noted then use('notes').remove(id .. tag) end
      end
      releaseKey(job, false)
    end
    if verdict.lane then applyToLane(job, verdict.lane, now) end
    return to
  end

  local function inserted(jobs, now)
    local results = {}
    for i, job in ipairs(jobs) do
      local state, moment, action = insertOne(job, false, false, now)
      results[i] = { state or '', moment, action or '' }
    end
    return results
  end

  -- Which of the jobs that a settlement enqueues cannot be; nil if all can.
  local function takenFor(key, token, verdict, more, now)
    local known = redis.call('HGET', ${K.held}, key)
    local holds = known and sub(known, 14) == token
    if not holds or (more.onlyIfExpired and leaseIn(known).till > now) then return nil end
    local jobs = forEach(more.enqueue, function(one)
      if more.isRead then return { id = one.id, tag = tagOf(one.q), queue = nameOf(one.q).queue } end
      return { id = idOf(one.id), tag = tagFor(one.space), queue = one.queue }
    end)
    local taken = takenBy(jobs, FINAL[verdict.to] and not verdict.keepMs and key or nil)
    return #taken > 0 and taken or nil
  end

  local function settleMore(id, tag, token, verdict, result, more, now)
    local taken = more.enqueue and takenFor(id .. tag, token, verdict, more, now)
    if taken then return { '', taken } end
    if more.note then use('notes').write(id .. tag, token, more.note, now) end
    local known = redis.call('HGET', ${K.held}, id .. tag)
    if not known or sub(known, 14) ~= token then
      local state, reason = refused(id, tag, keptToken(token, more), now)
      return state or { reason }
    end
    local lease = leaseIn(known)
    if more.onlyIfExpired and lease.till > now then return { 'not-expired' } end
    local state = settleOne(id, tag, token, lease, verdict, result, more, now)
    if more.move then use('groups').move(more.move, now) end
    if more.groups then use('groups').makeGroups(more.groups, now) end
    return more.enqueue and { state, inserted(more.isRead and more.enqueue or forEach(more.enqueue, draftOf), now) } or state
  end

  local function resultsIn(text)
    local results, at, i = {}, 1, 0
    while at <= #text do
      local length = struct.unpack('>I4', text, at)
      i = i + 1
      if length > 0 then results[i] = sub(text, at + 4, at + 2 + length) end
      at = at + 4 + max(0, length - 1)
    end
    return results
  end

  -- The jobs that others enqueue: their ids, their records, whether each takes the place of the other, and whether it can be written as it is.
  local function nextIn(space, queue, data, now)
    local q = makeNumber(space, queue)
    local stands = struct.pack('>I4I6', q, now)
    local ids, records, takes, isNew = {}, {}, {}, {}
    local at, i = 1, 0
    while at <= #data do
      i = i + 1
      takes[i] = byte(data, at) == 104
      local rest
      ids[i], rest, at = struct.unpack('>c16I4c0', data, at + 1)
      records[i] = sub(rest, 1, 1) .. stands .. sub(rest, 2)
    end
    if not isLimited(q) then
      local keys, seen = keysIn(q, ids), {}
      local there, kept = ask('HMGET', ${K.jobs}, keys), ask('HMGET', ${K.archive}, keys)
      for n, id in ipairs(ids) do
        isNew[n] = not there[n] and not kept[n] and not seen[id]
        seen[id] = true
      end
    end
    return { q = q, ids = ids, records = records, takes = takes, isNew = isNew }
  end

  -- Members of groups have ended, or hand their places on.
  local function leaveGroups(ids, records, places, results, following, now)
    local ended, left = {}, {}
    for i, record in ipairs(records) do
      local group, n = memberIn(record)
      left[i] = group .. struct.pack('>I4', n)
      if not (following and following.takes[places[i]]) then ended[#ended + 1] = { group, n, ids[i], 'done', results[places[i]] } end
    end
    send('HDEL', ${K.members}, left)
    if #ended > 0 then use('groups').endAll(ended, now) end
  end

  -- What keep does for one job, for jobs without a lane that are done.
  local function keepAll(q, ids, records, places, token, results, following, now, keepMs)
    local claim = claimOf({ q = q, lease = { token = token } })
    local kept, ended, expiry, keys = {}, {}, {}, keysIn(q, ids)
    local at, till = q4(q) .. CODES.done .. num(now), num(now + keepMs)
    for i, record in ipairs(records) do
      local id = ids[i]
      local job = readRecord(id, record)
      local x = job.x
      if following and following.takes[places[i]] then job.g = nil end
      x.t, x.w, x.b, x.st, x.r, x.f = token, claim.worker, claim.started, (x.st or 0) + 1, results[places[i]], nil
      x.z, x.fi, x.ex = 'done', now, now + keepMs
      kept[2 * i - 1], kept[2 * i] = keys[i], recordOf(job)
      ended[2 * i - 1], ended[2 * i] = 0, at .. id
      expiry[2 * i - 1], expiry[2 * i] = 0, till .. keys[i]
    end
    send('HSET', ${K.archive}, kept)
    send('ZADD', ${K.ended}, ended)
    send('ZADD', ${K.expiry}, expiry)
    count(q, 'done', #ids)
  end

  local function comeAfter(following, places)
    local written, arriving, members, n, tag = {}, {}, {}, #places, tagOf(following.q)
    for i, at in ipairs(places) do
      local id, record = following.ids[at], following.records[at]
      written[2 * i - 1], written[2 * i] = id .. tag, record
      arriving[2 * i - 1], arriving[2 * i] = id, record
      local group, nth = memberIn(record)
      if group then members[#members + 1], members[#members + 2] = group .. struct.pack('>I4', nth), 'j' .. id end
    end
    send('HSET', ${K.jobs}, written)
    send('HSET', ${K.members}, members)
    use('sheets').arrive(following.q, arriving)
    count(following.q, 'ready', n)
  end

  -- Jobs of one token that are done, and those that they enqueue, if they do: where nothing but groups depends on them they go
  -- together. What is not simply done is told of.
  local function settleDone(tag, token, joined, given, keepMs, following, now, tell)
    local ids, keys, results = {}, {}, resultsIn(given)
    for i = 1, #joined / 16 do
      ids[i] = sub(joined, 16 * i - 15, 16 * i)
      keys[i] = ids[i] .. tag
    end
    local held = ask('HMGET', ${K.held}, keys)
    local ending, going, leaving, places, q = nil, {}, {}, {}, nil
    local function flush()
      if #going == 0 then return end
      local isMember = byte(ending, 5) >= 8
      local records = (isMember or keepMs) and ask('HMGET', ${K.jobs}, leaving)
      if isMember then leaveGroups(going, records, places, results, following, now) end
      if keepMs then keepAll(q, going, records, places, token, results, following, now, keepMs) end
      send('HDEL', ${K.held}, leaving)
      send('HDEL', ${K.jobs}, leaving)
      count(q, 'running', -#going)
      unlease(token, q, #going)
      if not keepMs then forget(q, going, token, 'done', now) end
      if following then comeAfter(following, places) end
      going, leaving, places = {}, {}, {}
    end
    -- What stands in 'held' after the moment at which the lease ends: it is the same for nearly all of a claim.
    for i = 1, #ids do
      local known = held[i]
      local rest = known and sub(known, 9)
      if rest and rest ~= ending and byte(known, 13) % 8 <= 1 and sub(known, 14) == token and not isLimited((struct.unpack('>I4', known, 9))) then
        flush()
        ending, q = rest, (struct.unpack('>I4', known, 9))
      end
      if rest and rest == ending and not (following and not following.isNew[i]) then
        going[#going + 1], leaving[#leaving + 1], places[#places + 1] = ids[i], keys[i], i
      else
        flush()
        local more = {}
        if following then
          local job = readRecord(following.ids[i], following.records[i])
          job.delay = 0
          more = { enqueue = { job }, isRead = true, handsOn = following.takes[i] }
        end
        local state = settleMore(ids[i], tag, token, { to = 'done', keepMs = keepMs }, results[i], more, now)
        -- Of a repetition nobody knows what it enqueued.
        if state ~= 'done' or following then tell(i, state) end
      end
    end
    flush()
  end

  local function settle(args, now)
    local told, n = {}, 0
    local last = tonumber(args[1]) + 1
    local at = 2
    while at <= last do
      local kind, before = args[at], n
      if kind ~= '' then
        local tag, token, joined, results = tagFor(args[at + 1]), args[at + 2], args[at + 3], args[at + 4]
        local following = kind == 'n' and nextIn(args[at + 6], args[at + 7], args[at + 8], now) or nil
        settleDone(tag, token, joined, results, tonumber(args[at + 5]), following, now, function(i, state)
          told[#told + 1] = before + i
          told[#told + 1] = state
        end)
        n = n + #joined / 16
        at = at + (following and 9 or 6)
      else
        n = n + 1
        local result, sent = args[at + 5], args[at + 6]
        local more = sent == '' and {} or cjson.decode(sent)
        local state = settleMore(args[at + 2], tagFor(args[at + 1]), args[at + 3], verdictIn(args[at + 4]), result ~= '' and sub(result, 2) or nil, more, now)
        if state ~= 'done' then
          told[#told + 1] = n
          told[#told + 1] = state
        end
        at = at + 7
      end
    end
    writeEnds(now)
    local fired = enqueued(now)
    local claimed = ''
    if #args > last then
      local rest = {}
      for i = last + 1, #args do rest[#rest + 1] = args[i] end
      claimed = use('claim')(rest, now)
    end
    if loaded.sheets then loaded.sheets.settleIn() end
    return { now, told, fired, claimed }
  end

  local function extend(args, now)
    local till = now + tonumber(args[1])
    local keys, results, renewed = {}, {}, {}
    for at = 2, #args, 3 do keys[#keys + 1] = args[at + 1] .. tagFor(args[at]) end
    for i, held in ipairs(ask('HMGET', ${K.held}, keys)) do
      local key, token = keys[i], args[3 * i + 1]
      local known = held and leaseIn(held)
      if known and known.token == token then
        renewed[#renewed + 1] = key
        renewed[#renewed + 1] = leaseOf(till, known.q, known.mark, token)
        if till < known.till then lower(token, known.q, till) end
        results[i] = { '' }
        if isAskedToStop(known.mark) then results[i][2] = readRecord(key, redis.call('HGET', ${K.jobs}, key)).x.k end
      else
        local job = findKey(key)
        results[i] = { (not job or FINAL[job.state]) and 'gone' or 'lost' }
      end
    end
    send('HSET', ${K.held}, renewed)
    return results
  end

  return { settle = settle, extend = extend }
end
modules.settle = function() return use('settling').settle end
modules.extend = function() return use('settling').extend end
`
