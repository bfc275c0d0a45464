import { K } from '../../keys.ts'

/**
 * A claim takes many jobs under one token, so what they have in common is written once, for each of its queues. A lease
 * by itself is one field of `held`. The `bound` of a claim is a moment before which none of its leases ends: prolonging a
 * lease does not move it, and whoever looks for leases that are over works it out anew.
 */
export const LEASES: string = `
local function claimIn(value)
  local bound, started = numAt(value, 1), numAt(value, 9)
  local length = struct.unpack('>I2', value, 17)
  return { bound = bound, started = started, worker = sub(value, 19, 18 + length), ids = sub(value, 19 + length) }
end

local function claimName(token, q) return token .. '\\0' .. q4(q) end

local function writeClaim(name, claim)
  redis.call('HSET', ${K.claims}, name,
    num(claim.bound) .. num(claim.started) .. struct.pack('>I2', #claim.worker) .. claim.worker .. claim.ids)
end

-- Writes down that these jobs of a queue run. marks: those of their records.
local function lease(q, ids, marks, token, worker, now, till)
  if #ids == 0 then return end
  local plain = {}
  local held, tag = {}, tagOf(q)
  for i, id in ipairs(ids) do
    local mark = marks[i]
    local value = plain[mark]
    if not value then
      value = leaseOf(till, q, mark, token)
      plain[mark] = value
    end
    held[2 * i - 1], held[2 * i] = id .. tag, value
  end
  send('HSET', ${K.held}, held)
  local name = claimName(token, q)
  local taken = table.concat(ids)
  local known = redis.call('HGET', ${K.claims}, name)
  if known then
    -- The same token again: only somebody who makes tokens by hand does so.
    local claim = claimIn(known)
    claim.ids = claim.ids .. taken
    writeClaim(name, claim)
  else
    writeClaim(name, { bound = till, started = now, worker = worker, ids = taken })
    redis.call('ZADD', ${K.leases}, 0, q4(q) .. num(till) .. token)
    redis.call('ZADD', ${K.started}, 0, q4(q) .. num(now) .. token)
    redis.call('ZADD', ${K.tasks}, 0, worker .. '\\0' .. q4(q) .. token)
  end
  redis.call('HINCRBY', ${K.live}, name, #ids)
  count(q, 'ready', -#ids)
  count(q, 'running', #ids)
end

-- So many leases of a claim have ended. The last one takes the claim with it.
local function unlease(token, q, ended)
  local name = claimName(token, q)
  if redis.call('HINCRBY', ${K.live}, name, -ended) > 0 then return end
  local claim = claimIn(redis.call('HGET', ${K.claims}, name))
  redis.call('HDEL', ${K.live}, name)
  redis.call('HDEL', ${K.claims}, name)
  redis.call('ZREM', ${K.leases}, q4(q) .. num(claim.bound) .. token)
  redis.call('ZREM', ${K.started}, q4(q) .. num(claim.started) .. token)
  redis.call('ZREM', ${K.tasks}, claim.worker .. '\\0' .. q4(q) .. token)
end

-- A lease of a claim was made shorter than it was: the bound must not be later.
local function lower(token, q, till)
  local name = claimName(token, q)
  local claim = claimIn(redis.call('HGET', ${K.claims}, name))
  if till >= claim.bound then return end
  redis.call('ZREM', ${K.leases}, q4(q) .. num(claim.bound) .. token)
  redis.call('ZADD', ${K.leases}, 0, q4(q) .. num(till) .. token)
  claim.bound = till
  writeClaim(name, claim)
end

-- The leases of a claim that last: { id, till, mark }, and the moment at which the first of them ends.
local function lasting(q, claim, token)
  local ids = {}
  for at = 1, #claim.ids, 16 do ids[#ids + 1] = sub(claim.ids, at, at + 15) end
  local all, first = {}, NEVER
  for i, held in ipairs(ask('HMGET', ${K.held}, keysIn(q, ids))) do
    local known = held and leaseIn(held)
    if known and known.token == token then
      all[#all + 1] = { id = ids[i], till = known.till, mark = known.mark }
      first = min(first, known.till)
    end
  end
  return all, first
end

-- What its claim knows of a job that runs. A claim of many jobs is long, so it is read once in a call.
local claimsRead = {}
local function claimOf(job)
  local name = claimName(job.lease.token, job.q)
  local claim = claimsRead[name]
  if not claim then
    claim = claimIn(redis.call('HGET', ${K.claims}, name))
    claimsRead[name] = claim
  end
  return claim
end
`
