import { K } from '../keys.ts'

/**
 * settle: ARGV how many settlements, for each id, token, verdict (as JSON, "" for done and away), result ("" or "=" and
 * the text), more as JSON or ""; then the arguments of a claim, if there is one. Answers the results, what was enqueued,
 * and the answer of the claim.
 *
 * extend: ARGV how long, then for each lease id and token. Answers for each "" or why not, and why it shall stop.
 */
export const SETTLE: string = `
modules.settling = function()
  local COUNTERS = { errors = 'er', timeouts = 'ti', lost = 'lo', snoozes = 'sn' }

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

  local function settle(args, now)
    local n = tonumber(args[1])
    local ids = {}
    for i = 1, n do ids[i] = args[5 * i - 3] end
    local held = ask('HMGET', ${K.held}, ids)
    local verdicts, results, seen = {}, {}, {}

    -- Jobs that simply go, by claim: they are removed together.
    local going = {}
    local function flush()
      for _, one in pairs(going) do
        send('HDEL', ${K.held}, one.ids)
        send('HDEL', ${K.jobs}, one.ids)
        count(one.q, 'running', -#one.ids)
        unlease(one.token, one.q, #one.ids)
        forget(one.ids, one.token, 'done', now)
      end
      going = {}
    end

    for i = 1, n do
      local at = 5 * i - 3
      local id, token, text, sent = ids[i], args[at + 1], args[at + 2], args[at + 4]
      local known = held[i]
      if seen[id] then
        flush()
        known = redis.call('HGET', ${K.held}, id)
      end
      seen[id] = true
      local holds = known and sub(known, 14) == token
      local mark = holds and byte(known, 13)
      if holds and text == '' and sent == '' and (mark == 0 or mark == 1) and not isLimited((struct.unpack('>I4', known, 9))) then
        local q = struct.unpack('>I4', known, 9)
        local name = claimName(token, q)
        local one = going[name]
        if not one then
          one = { token = token, q = q, ids = {} }
          going[name] = one
        end
        one.ids[#one.ids + 1] = id
        results[i] = 'done'
      else
        flush()
        local more = sent == '' and {} or cjson.decode(sent)
        if more.note then use('notes').write(id, token, more.note, now) end
        if not holds then
          local state, reason = refused(id, token, more.rescue)
          results[i] = state or { reason }
        else
          local lease = leaseIn(known)
          if more.onlyIfExpired and lease.till > now then results[i] = { 'not-expired' }
          else
            local verdict = verdicts[text]
            if not verdict then
              verdict = text == '' and { to = 'done' } or cjson.decode(text)
              verdicts[text] = verdict
            end
            local result = args[at + 3]
            local state = settleOne(id, token, lease, verdict, result ~= '' and sub(result, 2) or nil, more, now)
            writeEnds()
            if more.move then use('groups').move(more.move, now) end
            if more.groups then use('groups').makeGroups(more.groups, now) end
            results[i] = more.enqueue and { state, inserted(more.enqueue, now) } or state
          end
        end
      end
    end
    flush()
    local fired = enqueued(now)
    local claimed = ''
    if #args > 5 * n + 1 then
      local rest = {}
      for at = 5 * n + 2, #args do rest[#rest + 1] = args[at] end
      claimed = use('claim')(rest, now)
    end
    return { now, results, fired, claimed }
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
