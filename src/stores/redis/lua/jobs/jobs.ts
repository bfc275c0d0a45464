import { K } from '../../keys.ts'

/** How jobs come, move and go, with everything that has to change with them: counts, unique keys, lanes and groups. */
export const JOBS: string = `
-- Tells counts, lanes and groups that a job is in another state. Nil: it was not there, or is not any more. An ending says
-- how it ended, if it is gone by that.
local function changed(job, from, to, now, ending)
  if from ~= to then
    if from then count(job.q, from, -1) end
    if to then count(job.q, to, 1) end
  end
  if job.x.l or isLimited(job.q) then use('lines').track(job, from, to, now) end
  if job.g then use('groups').track(job, from, to, now, ending) end
end

local function enter(job, state)
  if state == 'delayed' then
    redis.call('ZADD', ${K.delayed}, 0, delayedMember(job))
    if job.x.l then redis.call('ZADD', ${K.later}, 0, laterMember(job)) end
  else
    local member = readyMember(job)
    if not job.x.l then use('sheets').part(member) end
    redis.call('ZADD', ${K.ready}, 0, member)
    local ages = {}
    addAges(ages, job, 0)
    send('ZADD', ${K.ages}, ages)
  end
end

local function leave(job)
  if job.state == 'delayed' then
    redis.call('ZREM', ${K.delayed}, delayedMember(job))
    if job.x.l then redis.call('ZREM', ${K.later}, laterMember(job)) end
  else
    local member = readyMember(job)
    if redis.call('ZREM', ${K.ready}, member) == 0 and not job.x.l then use('sheets').take(member) end
    local ages = {}
    addAges(ages, job)
    send('ZREM', ${K.ages}, ages)
  end
end

-- A new number for a job that arrives in a strict lane.
local function arrive(job)
  if job.x.s then job.x.a = redis.call('HINCRBY', ${K.meta}, 'arrivals', 1) end
end

-- Writes a job that waits. It has left its place before.
local function wait(job, from, state, now)
  redis.call('HSET', ${K.jobs}, keyOf(job), recordOf(job))
  enter(job, state)
  job.state = state
  changed(job, from, state, now)
end

-- Where a job that has ended stands among those of its lane.
local function endedInLane(job)
  local x = job.x
  return q4(job.q) .. CODES[x.z] .. x.l .. '\\0' .. num(x.fi) .. job.id
end

-- Writes a job that has ended, and takes it out of what waits or runs.
local function keep(job, from, state, now, keepMs)
  local x = job.x
  x.z, x.fi, x.ex = state, now, now + keepMs
  redis.call('HSET', ${K.archive}, keyOf(job), recordOf(job))
  redis.call('HDEL', ${K.jobs}, keyOf(job))
  redis.call('ZADD', ${K.ended}, 0, q4(job.q) .. CODES[state] .. num(now) .. job.id)
  if x.l then redis.call('ZADD', ${K['ended:lanes']}, 0, endedInLane(job)) end
  redis.call('ZADD', ${K.expiry}, 0, num(x.ex) .. keyOf(job))
  job.state = state
  changed(job, from, state, now)
end

local function takeOutOfArchive(job)
  local x = job.x
  redis.call('HDEL', ${K.archive}, keyOf(job))
  redis.call('ZREM', ${K.ended}, q4(job.q) .. CODES[x.z] .. num(x.fi) .. job.id)
  if x.l then redis.call('ZREM', ${K['ended:lanes']}, endedInLane(job)) end
  redis.call('ZREM', ${K.expiry}, num(x.ex) .. keyOf(job))
end

-- ── unique keys ──────────────────────────────────────────────────────────────────────────────────

-- Who has a key now: the id of a job, or nil.
local function holderOf(q, key, now)
  local value = redis.call('HGET', ${K.uniques}, q4(q) .. key)
  if not value then return nil end
  if #value > 16 and numAt(value, 17) <= now then return nil end
  return sub(value, 1, 16)
end

local function takeKey(q, key, id, till)
  local field = q4(q) .. key
  if not till then redis.call('HSET', ${K.uniques}, field, id)
  else
    redis.call('HSET', ${K.uniques}, field, id .. num(till))
    redis.call('ZADD', ${K.windows}, 0, num(till) .. field)
  end
end

-- Gives up the key of a job that has come to the end of the key's scope. Only the holder lets go.
local function releaseKey(job, isClaim)
  local u = job.x.u
  if not u or u[2] == 'window' or (isClaim and u[2] ~= 'queued') then return end
  local field = q4(job.q) .. u[1]
  local value = redis.call('HGET', ${K.uniques}, field)
  if value and sub(value, 1, 16) == job.id then redis.call('HDEL', ${K.uniques}, field) end
end

-- ── jobs that left ───────────────────────────────────────────────────────────────────────────────

-- Remembers ids of a queue for ten minutes: one entry for all of a call. Without a token no settlement can be a repetition.
local REMEMBER = 600000
local function forget(q, ids, token, state, now)
  if #ids == 0 then return end
  local n = redis.call('HINCRBY', ${K.meta}, 'gone', 1)
  local name = num(n)
  -- They mostly come in order: newer ids are higher.
  local sorted, isSorted = ids, true
  local h1, h2, h3 = struct.unpack('>I6I6I4', ids[1])
  for i = 2, #ids do
    local a1, a2, a3 = struct.unpack('>I6I6I4', ids[i])
    if a1 < h1 or (a1 == h1 and (a2 < h2 or (a2 == h2 and a3 < h3))) then
      isSorted = false
      break
    end
    h1, h2, h3 = a1, a2, a3
  end
  if not isSorted then
    local parts = {}
    for i, id in ipairs(ids) do
      local a1, a2, a3 = struct.unpack('>I6I6I4', id)
      parts[i] = { a1, a2, a3, id }
    end
    table.sort(parts, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and (a[2] < b[2] or (a[2] == b[2] and a[3] < b[3])))
    end)
    sorted = forEach(parts, function(part) return part[4] end)
  end
  redis.call('HSET', ${K.gone}, name, struct.pack('>I2', #token) .. token .. CODES[state] .. q4(q) .. table.concat(sorted))
  redis.call('ZADD', ${K['gone:index']}, 0, 'i' .. sorted[#sorted] .. sorted[1] .. name, 0, 'u' .. num(now + REMEMBER) .. name)
  if token ~= '' then redis.call('ZADD', ${K['gone:index']}, 0, 't' .. token .. '\\0' .. name) end
end

local STATES = {}
for state, code in pairs(CODES) do STATES[code] = state end

local function goneIn(value)
  local length = struct.unpack('>I2', value, 1)
  return sub(value, 3, 2 + length), STATES[sub(value, 3 + length, 3 + length)], sub(value, 8 + length),
    (struct.unpack('>I4', value, 4 + length))
end

-- Ids are 16 bytes each and sorted: looks for one by halving.
local function contains(ids, id)
  local low, high = 1, #ids / 16
  while low <= high do
    local middle = floor((low + high) / 2)
    local there = sub(ids, middle * 16 - 15, middle * 16)
    if there == id then return true end
    if isBefore(there, id) then low = middle + 1 else high = middle - 1 end
  end
  return false
end

-- Whether a job of this queue left lately, in whatever way.
local function hasLeft(id, queue)
  local from = '[i' .. id
  while true do
    local page = redis.call('ZRANGEBYLEX', ${K['gone:index']}, from, '(j', 'LIMIT', 0, 200)
    for _, member in ipairs(page) do
      if not isBefore(id, sub(member, 18, 33)) then
        local _, _, ids, q = goneIn(redis.call('HGET', ${K.gone}, sub(member, 34)))
        if q == queue and contains(ids, id) then return true end
      end
    end
    if #page < 200 then return false end
    from = '(' .. page[200]
  end
end

-- The state to which this token settled a job that is gone; nil if it did not.
local function settledAway(id, tag, token)
  for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K['gone:index']}, '[t' .. token .. '\\0', '(t' .. token .. '\\1')) do
    local _, state, ids, q = goneIn(redis.call('HGET', ${K.gone}, sub(member, -8)))
    if tagOf(q) == tag and contains(ids, id) then return state end
  end
  return nil
end

-- ── coming ───────────────────────────────────────────────────────────────────────────────────────

-- What a conflict of unique keys does to the job that has the key.
local function collide(holder, new, how, now)
  local held = how ~= 'ignore' and find(holder, tagOf(new.q)) or nil
  if not held or (held.state ~= 'ready' and held.state ~= 'delayed') then return 'ignored' end
  leave(held)
  local x, from = held.x, held.state
  held.payload, x.h, x.o, x.p = new.payload, new.x.h, new.x.o, new.x.p
  -- What failed was the old content.
  x.er, x.ti, x.lo, x.sn, x.f = nil, nil, nil, nil, nil
  local state = from
  if how == 'replace' or new.delay > 0 or new.runAt then
    setDue(held, new.due)
    state = new.due > now and 'delayed' or 'ready'
  end
  wait(held, from, state, now)
  return how == 'replace' and 'replaced' or 'postponed'
end

-- Which of these jobs, { id, tag, queue }, cannot be, because jobs of other queues have their ids: ids, each with a queue.
-- The job with the key in leaving is about to go.
local function takenBy(jobs, leaving)
  local taken, queues, told = {}, {}, {}
  for _, job in ipairs(jobs) do
    local key = job.id .. job.tag
    local there = not queues[key] and key ~= leaving and findKey(key)
    queues[key] = queues[key] or (there and nameOf(there.q).queue) or job.queue
    if queues[key] ~= job.queue and not told[key] then
      taken[#taken + 1], taken[#taken + 2], told[key] = job.id, queues[key], true
    end
  end
  return taken
end

-- Inserts a job: { id, q, payload, x, delay, runAt, unique }. Returns a state, a moment and "known" if it is there; or nil,
-- whose key it is, and what happened to that one.
local function insertOne(new, again, fresh, now)
  if not fresh then
    local known = find(new.id, tagOf(new.q))
    if known then return known.state, dueOf(known), 'known' end
    if again and hasLeft(new.id, new.q) then return 'done', now, 'known' end
  end
  new.enq = now
  new.due = max(now + new.delay, new.runAt or 0)
  setDue(new, new.due)
  local unique = new.unique
  if unique then
    local holder = holderOf(new.q, unique.key, now)
    if holder then
      local action = collide(holder, new, unique.onConflict, now)
      if new.g then use('groups').duplicate(new, holder, now) end
      return nil, holder, action
    end
    takeKey(new.q, unique.key, new.id, unique.scope == 'window' and now + unique.windowMs or nil)
    new.x.u = { unique.key, unique.scope }
  end
  arrive(new)
  wait(new, nil, new.due > now and 'delayed' or 'ready', now)
  return new.state, new.due
end

-- A job as the client sends it as JSON, inside of something else.
local function draftOf(sent)
  return {
    id = idOf(sent.id), q = makeNumber(sent.space, sent.queue), payload = sent.payload, x = sent.x or {}, g = sent.g,
    delay = sent.delay or 0, runAt = sent.runAt, unique = sent.unique,
  }
end
`
