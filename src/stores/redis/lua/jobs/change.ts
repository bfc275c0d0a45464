import { REST_OF_CHAIN } from '../../../../core/flows/chains.ts'
import { K } from '../../keys.ts'

/**
 * change: ARGV the call as JSON, { action, space, failure, keepMs, priority, dueAt, earlierMs, reason } with ids (16 bytes each, one after
 * the other, as the next argument) or a selection. Answers for each job its id, a status and a reason; the cursor; and the
 * queues in which jobs came to another place.
 */
export const CHANGE: string = `
modules.changing = function()
  local POSSIBLE = {
    cancel = { delayed = true, ready = true, running = true },
    bury = { delayed = true, ready = true },
    retry = FINAL,
    promote = { delayed = true },
    remove = { delayed = true, ready = true, done = true, failed = true, dead = true, cancelled = true },
    prioritize = { delayed = true, ready = true },
    reschedule = { delayed = true, ready = true },
  }
  local ENDS = { cancel = 'cancelled', bury = 'dead' }

  local function changeOne(job, call, now, moved, earlier)
    if not job then return 'refused', 'unknown' end
    local x, from, action = job.x, job.state, call.action
    -- What is in strict order has its place by its arrival, and no other moment.
    if not POSSIBLE[action][from] or (action == 'reschedule' and x.s) then return 'refused', 'state' end

    if ENDS[action] then
      if from == 'running' then
        x.k = call.reason or ''
        redis.call('HSET', ${K.jobs}, keyOf(job), recordOf(job))
        local mark = job.lease.mark
        redis.call('HSET', ${K.held}, keyOf(job), leaseOf(job.lease.till, job.q, isAskedToStop(mark) and mark or mark + 4, job.lease.token))
        return 'requested'
      end
      leave(job)
      x.f = call.failure or x.f
      keep(job, from, ENDS[action], now, call.keepMs)
      releaseKey(job, false)
    elseif action == 'retry' then
      if job.g and not use('groups').mayRejoin(job.g[1]) then return 'refused', 'run' end
      if x.u and x.u[2] ~= 'window' then
        if holderOf(job.q, x.u[1], now) then return 'refused', 'unique' end
        takeKey(job.q, x.u[1], job.id, nil)
      end
      takeOutOfArchive(job)
      -- What is done has handed on what comes after it.
      if from == 'done' and x.h and string.find(x.h, '${REST_OF_CHAIN}', 1, true) then
        local headers = cjson.decode(x.h)
        headers['${REST_OF_CHAIN}'] = nil
        x.h = next(headers) and cjson.encode(headers) or '{}'
      end
      x.n = (x.n or 0) + 1
      x.z, x.fi, x.ex, x.b, x.t, x.w, x.k, x.r, x.f = nil, nil, nil, nil, nil, nil, nil, nil, nil
      x.st, x.er, x.ti, x.lo, x.sn = nil, nil, nil, nil, nil
      setDue(job, min(call.dueAt or now, now) - (call.earlierMs or 0) - (earlier or 0))
      x.e = x.e or x.a
      arrive(job)
      wait(job, from, 'ready', now)
      moved[#moved + 1] = job
    elseif action == 'promote' then
      -- One that is overdue keeps its age.
      leave(job)
      setDue(job, min(dueOf(job), now))
      wait(job, from, 'ready', now)
      moved[#moved + 1] = job
    elseif action == 'reschedule' then
      leave(job)
      local due = call.dueAt or now
      setDue(job, due)
      wait(job, from, due > now and 'delayed' or 'ready', now)
      moved[#moved + 1] = job
    elseif action == 'prioritize' then
      leave(job)
      x.p = call.priority ~= 0 and call.priority or nil
      wait(job, from, from, now)
      moved[#moved + 1] = job
    else
      if FINAL[from] then takeOutOfArchive(job)
      else
        leave(job)
        redis.call('HDEL', ${K.jobs}, keyOf(job))
      end
      changed(job, from, nil, now)
      forget(job.q, { job.id }, '', from, now)
      use('notes').remove(keyOf(job))
      releaseKey(job, false)
    end
    return 'ok'
  end

  -- Of a selection: it would be met again and again.
  local function isSoAlready(job, call)
    return (call.action == 'prioritize' and (job.x.p or 0) == call.priority)
      or (call.action == 'reschedule' and dueOf(job) == call.dueAt)
  end

  local function waiting(moved)
    local queues, list = {}, {}
    for _, job in ipairs(moved) do
      local known = queues[job.q]
      if not known then
        known = { job.q, NEVER, NEVER }
        queues[job.q] = known
        list[#list + 1] = known
      end
      known[2], known[3] = min(known[2], dueOf(job)), min(known[3], rankOf(job))
    end
    for _, one in ipairs(list) do
      one[1], one[3] = nameOf(one[1]).queue, string.format('%.0f', one[3])
    end
    return list
  end

  -- See inOrder in core/transitions.ts.
  local function eachInOrder(action, items, jobOf, visit)
    local order = {}
    for at = 1, #items do order[at] = at end
    if action == 'retry' then
      table.sort(order, function(a, b)
        local one, other = jobOf(items[a]), jobOf(items[b])
        if not one or not other then
          if not one and not other then return a < b end
          return not other
        end
        if one.enq ~= other.enq then return one.enq < other.enq end
        if arrivalOf(one) ~= arrivalOf(other) then return arrivalOf(one) < arrivalOf(other) end
        if one.id ~= other.id then return isBefore(one.id, other.id) end
        return a < b
      end)
    end
    -- See stepsBefore.
    local earlier, step, later = {}, 0, nil
    for n = action == 'retry' and #order or 0, 1, -1 do
      local job = jobOf(items[order[n]])
      if job and FINAL[job.state] then
        if later and isBefore(later, job.id) then step = step + 1 end
        earlier[n], later = step, job.id
      end
    end
    for n, at in ipairs(order) do visit(items[at], at, earlier[n]) end
  end

  local function change(args, now)
    local call = cjson.decode(args[1])
    local results, moved, cursor = {}, {}, ''
    local function apply(job, id, at, earlier)
      local status, reason = changeOne(job, call, now, moved, earlier)
      results[at] = { id, status, reason or '' }
    end
    if not call.state then
      local found = {}
      for at = 1, #args[2], 16 do
        local id = sub(args[2], at, at + 15)
        found[#found + 1] = { id, call.action == 'retry' and find(id, tagFor(call.space)) }
      end
      -- Looked up again: an id may be named twice.
      eachInOrder(call.action, found, function(one) return one[2] end, function(one, at, earlier) apply(find(one[1], tagFor(call.space)), one[1], at, earlier) end)
    elseif POSSIBLE[call.action][call.state] then
      local page
      call.oldestFirst = call.action == 'retry'
      page, cursor = use('listing').page(call, call.limit, args[2], now)
      local taken = {}
      for _, job in ipairs(page) do
        if not isSoAlready(job, call) then taken[#taken + 1] = job end
      end
      eachInOrder(call.action, taken, function(job) return job end, function(job, at, earlier) apply(job, job.id, at, earlier) end)
      if #page < call.limit then cursor = '' end
    end
    return { now, results, cursor, waiting(moved), enqueued(now) }
  end

  return { change = change, one = changeOne }
end
modules.change = function() return use('changing').change end
`
