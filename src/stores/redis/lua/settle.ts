import { K } from '../keys.ts'

/**
 * settle: ARGV how many arguments are about settlements, then these in pieces, in order: a token and ids one after the
 * other, for jobs that are done and go away; or "", id, token, verdict as JSON ("" for done and away), result ("" or "="
 * and the text), more as JSON or "". Then the arguments of a claim, if there is one. Answers, for what is not simply done,
 * its place and what became of it; what was enqueued; and the answer of the claim.
 *
 * extend: ARGV how long, then for each lease id and token. Answers for each "" or why not, and why it shall stop.
 */
export const SETTLE: string = `
modules.settling = function()
  local COUNTERS = { errors = 'er', timeouts = 'ti', lost = 'lo', snoozes = 'sn' }

  local verdicts = {}

  -- Leases that ended, by claim; written once.
  local ended = {}
  local function ends(token, q)
    local name = claimName(token, q)
    local known = ended[name]
    if known then known.n = known.n + 1 else ended[name] = { token = token, q = q, n = 1 } end
  end
  local function writeEnds()
    for _, one in pairs(ended) do unlease(one.token, one.q, one.n) end
    ended = {}
  end

  -- What became of a job whose token holds nothing now: its state if this token settled it, else nil and why.
  local function refused(id, token, rescue)
    local job = find(id)
    if job and not rescue and job.state ~= 'running' and job.x.t == token then return job.state end
    if not job then return not rescue and settledAway(id, token) or nil, 'gone' end
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
  local function settleOne(id, token, known, verdict, result, more, now)
    local job = readRecord(id, redis.call('HGET', ${K.jobs}, id))
    job.state, job.lease = 'running', known
    local claim = claimOf(job)
    local x = job.x
    if more.handsOn and x.g then use('groups').handOn(job) end
    local waits = verdict.to == 'ready' or verdict.to == 'delayed'
    local cancelled = waits and x.k ~= nil
    local to = cancelled and 'cancelled' or verdict.to
    local keepMs = verdict.keepMs
    if cancelled then keepMs = verdict.keepCancelledMs end
    redis.call('HDEL', ${K.held}, id)
    ends(token, job.q)

    x.t = not more.rescue and token or nil
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
        redis.call('HDEL', ${K.jobs}, id)
        changed(job, 'running', nil, now, { state = to, result = result, failure = verdict.failure })
        forget({ id }, more.rescue and '' or token, to, now)
        if more.noted then use('notes').remove(id) end
      end
      releaseKey(job, false)
    end
    if verdict.lane then applyToLane(job, verdict.lane, now) end
    return to
  end

  local function inserted(drafts, now)
    local results = {}
    for i, draft in ipairs(drafts) do
      local state, moment, action = insertOne(draftOf(draft), false, false, now)
      results[i] = { state or '', moment, action or '' }
    end
    return results
  end

  local function settleMore(id, token, text, result, sent, now)
    local more = sent == '' and {} or cjson.decode(sent)
    if more.note then use('notes').write(id, token, more.note, now) end
    local known = redis.call('HGET', ${K.held}, id)
    if not known or sub(known, 14) ~= token then
      local state, reason = refused(id, token, more.rescue)
      return state or { reason }
    end
    local lease = leaseIn(known)
    if more.onlyIfExpired and lease.till > now then return { 'not-expired' } end
    local verdict = verdicts[text]
    if not verdict then
      verdict = text == '' and { to = 'done' } or cjson.decode(text)
      verdicts[text] = verdict
    end
    local state = settleOne(id, token, lease, verdict, result ~= '' and sub(result, 2) or nil, more, now)
    writeEnds()
    if more.move then use('groups').move(more.move, now) end
    if more.groups then use('groups').makeGroups(more.groups, now) end
    return more.enqueue and { state, inserted(more.enqueue, now) } or state
  end

  -- Jobs of one token that are done and go away: those that nothing else depends on go together. What is not simply done is
  -- told of.
  local function settleAway(token, joined, now, tell)
    local ids = {}
    for i = 1, #joined / 16 do ids[i] = sub(joined, 16 * i - 15, 16 * i) end
    local held = ask('HMGET', ${K.held}, ids)
    local ending, going, q = nil, {}, nil
    local function flush()
      if #going == 0 then return end
      send('HDEL', ${K.held}, going)
      send('HDEL', ${K.jobs}, going)
      count(q, 'running', -#going)
      unlease(token, q, #going)
      forget(going, token, 'done', now)
      going = {}
    end
    -- What stands in 'held' after the moment at which the lease ends: it is the same for nearly all of a claim.
    for i = 1, #ids do
      local known = held[i]
      local rest = known and sub(known, 9)
      if rest and rest ~= ending and byte(known, 13) <= 1 and sub(known, 14) == token and not isLimited((struct.unpack('>I4', known, 9))) then
        flush()
        ending, q = rest, (struct.unpack('>I4', known, 9))
      end
      if rest and rest == ending then going[#going + 1] = ids[i]
      else
        flush()
        local state = settleMore(ids[i], token, '', '', '', now)
        if state ~= 'done' then tell(i, state) end
      end
    end
    flush()
  end

  local function settle(args, now)
    local told, n = {}, 0
    local last = tonumber(args[1]) + 1
    local at = 2
    while at <= last do
      local token, before = args[at], n
      if token ~= '' then
        local joined = args[at + 1]
        settleAway(token, joined, now, function(i, state)
          told[#told + 1] = before + i
          told[#told + 1] = state
        end)
        n = n + #joined / 16
        at = at + 2
      else
        n = n + 1
        local state = settleMore(args[at + 1], args[at + 2], args[at + 3], args[at + 4], args[at + 5], now)
        if state ~= 'done' then
          told[#told + 1] = n
          told[#told + 1] = state
        end
        at = at + 6
      end
    end
    local fired = enqueued(now)
    local claimed = ''
    if #args > last then
      local rest = {}
      for i = last + 1, #args do rest[#rest + 1] = args[i] end
      claimed = use('claim')(rest, now)
    end
    return { now, told, fired, claimed }
  end

  local function extend(args, now)
    local till = now + tonumber(args[1])
    local ids, results, renewed = {}, {}, {}
    for at = 2, #args, 2 do ids[#ids + 1] = args[at] end
    for i, held in ipairs(ask('HMGET', ${K.held}, ids)) do
      local id, token = ids[i], args[2 * i + 1]
      local known = held and leaseIn(held)
      if known and known.token == token then
        renewed[#renewed + 1] = id
        renewed[#renewed + 1] = leaseOf(till, known.q, known.mark, token)
        if till < known.till then lower(token, known.q, till) end
        results[i] = { '' }
        if known.mark >= 4 then results[i][2] = readRecord(id, redis.call('HGET', ${K.jobs}, id)).x.k end
      else
        local job = find(id)
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
