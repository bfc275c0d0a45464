import { DEFAULT_SPACE, K } from '../../keys.ts'

/**
 * The record of a job: a mark, the number of its queue, when it was enqueued, and the payload. What most jobs do not
 * have stands between them, and the mark says whether it is there: of which group it is a member, and the rest as JSON. So
 * a plain job is read and written without JSON, and nothing is rewritten when it is claimed: that is in `held`.
 *
 *   mark q:4 enqueued:6 [length:1 group n:4] [length:4 more] payload
 *
 * The mark is the sum of 1: there is more; 2: it has a unique key or a lane, so something has to be done when it starts or ends;
 * and 8: it is a member of a group. A lease has the same mark, with 4 if somebody wants the job to stop. In Lua a job is
 * { id, q, enq, payload, x, g, state }, where g is { group, n } and x is what there is more:
 *
 *   p priority, d due, h headers, o overrides, l lane, s strict, a arrival, e the first arrival if it was retried, c cost, u { key, scope },
 *   n generation, st starts, er errors, ti timeouts, lo lost, sn snoozes, t token, w worker, b begun (the last start),
 *   r result, f failure, k why it shall stop; of finished jobs z state, fi finished, ex expires.
 *
 * The start of a lease that lasts is not in \`st\`.
 */
export const RECORDS: string = `
local STEP = 600000
local CODES = { delayed = '1', ready = '2', running = '3', done = '4', failed = '5', dead = '6', cancelled = '7' }
local FINAL = { done = true, failed = true, dead = true, cancelled = true }

local function readRecord(id, record)
  local mark = byte(record, 1)
  local q, enq = struct.unpack('>I4I6', record, 2)
  if mark == 0 then return { id = id, q = q, enq = enq, payload = sub(record, 12), x = {} } end
  local at, x, g = 12, {}, nil
  if mark >= 8 then
    local group, n
    group, n, at = struct.unpack('>Bc0I4', record, 12)
    g = { group, n }
  end
  if mark % 2 == 1 then
    local more
    more, at = struct.unpack('>I4c0', record, at)
    x = cjson.decode(more)
  end
  return { id = id, q = q, enq = enq, payload = sub(record, at), x = x, g = g }
end

-- The group of a record's job and its number there; nil if it is no member.
local function memberIn(record)
  if byte(record, 1) < 8 then return nil end
  return struct.unpack('>Bc0I4', record, 12)
end

-- Whether somebody wants the job of a lease with this mark to stop.
local function isAskedToStop(mark) return mark % 8 >= 4 end

local function recordOf(job)
  local x, g = job.x, job.g
  local mark, member, more = 0, '', ''
  if g then mark, member = 8, struct.pack('>Bc0I4', #g[1], g[1], g[2]) end
  if next(x) ~= nil then
    mark, more = mark + ((x.u or x.l) and 3 or 1), cjson.encode(x)
    more = struct.pack('>I4', #more) .. more
  end
  return char(mark) .. struct.pack('>I4I6', job.q, job.enq) .. member .. more .. job.payload
end

local function dueOf(job) return job.x.d or job.enq end

local function setDue(job, due)
  job.x.d = due ~= job.enq and due or nil
end

local function rankOf(job) return dueOf(job) - (job.x.p or 0) * STEP end

-- In which order strict jobs of one moment were enqueued.
local function arrivalOf(job) return job.x.e or job.x.a or NEVER end

-- Where a ready job stands in its lane, lowest first: by arrival if the lane is strict, otherwise by rank.
local function placeOf(job) return job.x.s and job.x.a or rankOf(job) end

local function readyMember(job) return q4(job.q) .. (job.x.l or '') .. '\\0' .. num(placeOf(job)) .. job.id end

local function delayedMember(job) return q4(job.q) .. num(dueOf(job)) .. job.id end

-- Whether the place of a ready job is not its age. Such a job is also in 'ages', as the same member as in 'delayed'; and if it has
-- no lane once more by its place, so that the first of the others is found among all that have none.
local function isOutOfAge(job) return job.x.l or job.x.p or job.x.s end

local function addAges(members, job, score)
  if not isOutOfAge(job) then return end
  members[#members + 1] = score
  members[#members + 1] = delayedMember(job)
  if job.x.l then return end
  members[#members + 1] = score
  members[#members + 1] = q4(job.q) .. '\\255' .. num(placeOf(job)) .. job.id
end

-- The same of a record that was read in a claim of a queue without limits.
local function addAgesIn(members, id, record)
  if byte(record, 1) % 2 == 0 then return end
  if not string.find(record, '"p":', 12, true) and not string.find(record, '"s":', 12, true) then return end
  addAges(members, readRecord(id, record))
end

local function laterMember(job) return q4(job.q) .. job.x.l .. '\\0' .. num(dueOf(job)) .. job.id end

-- What is known of a lease.
local function leaseIn(held)
  return { till = numAt(held, 1), q = (struct.unpack('>I4', held, 9)), mark = byte(held, 13), token = sub(held, 14) }
end

local function leaseOf(till, q, mark, token) return num(till) .. q4(q) .. char(mark) .. token end

-- Names and numbers of queues.
local names = {}

local function nameOf(q)
  local name = names[q]
  if not name then
    local both = redis.call('HGET', ${K.names}, '\\0' .. q)
    local at = string.find(both, '\\0', 1, true)
    name = { space = sub(both, 1, at - 1), queue = sub(both, at + 1) }
    names[q] = name
  end
  return name
end

local numbers = {}

local function numberOf(space, queue)
  local name = space .. '\\0' .. queue
  local q = numbers[name] or tonumber(redis.call('HGET', ${K.names}, name) or nil)
  numbers[name] = q
  return q
end

local function makeNumber(space, queue)
  local q = numberOf(space, queue)
  if q then return q end
  q = redis.call('HINCRBY', ${K.meta}, 'queues', 1)
  redis.call('HSET', ${K.names}, space .. '\\0' .. queue, q, '\\0' .. q, space .. '\\0' .. queue)
  return q
end

-- What stands behind the id of a job where all jobs are found: its space, unless that is the default one. So two spaces may
-- have the same id, and most jobs take no more room. Where a queue comes first the id alone says it.
local function tagFor(space) return space == '${DEFAULT_SPACE}' and '' or space end

local tags = {}
local function tagOf(q)
  local tag = tags[q]
  if not tag then
    tag = tagFor(nameOf(q).space)
    tags[q] = tag
  end
  return tag
end

local function keyOf(job) return job.id .. tagOf(job.q) end

-- The keys of jobs of one queue.
local function keysIn(q, ids)
  local tag = tagOf(q)
  if tag == '' then return ids end
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = id .. tag end
  return keys
end

-- The state of a job that is in 'jobs'.
local function stateOf(job)
  local held = redis.call('HGET', ${K.held}, keyOf(job))
  if held then
    job.lease = leaseIn(held)
    return 'running'
  end
  if job.x.d and redis.call('ZSCORE', ${K.delayed}, delayedMember(job)) then return 'delayed' end
  return 'ready'
end

-- A job by its key, with its state; nil if there is none.
local function findKey(key)
  local id, record = sub(key, 1, 16), redis.call('HGET', ${K.jobs}, key)
  if record then
    local job = readRecord(id, record)
    job.state = stateOf(job)
    return job
  end
  record = redis.call('HGET', ${K.archive}, key)
  if not record then return nil end
  local job = readRecord(id, record)
  job.state = job.x.z
  return job
end

local function find(id, tag) return findKey(id .. tag) end

-- Counts are added up and written once, at the end of the call.
local counted = {}
local function count(q, state, by)
  local key = q4(q) .. CODES[state]
  counted[key] = (counted[key] or 0) + by
end

local function writeCounts()
  for key, by in pairs(counted) do
    if by ~= 0 then redis.call('HINCRBY', ${K.counts}, key, by) end
  end
end

-- Whether a queue is limited. Most are not, and the rest of lanes is then never read.
local limited = {}
local function isLimited(q)
  local known = limited[q]
  if known == nil then
    known = redis.call('HEXISTS', ${K.lines}, q) == 1
    limited[q] = known
  end
  return known
end
`
