import { K } from '../keys.ts'

/** prune: ARGV how many jobs at most. attend: ARGV the id of a worker, the connection that it lives by (or ""), and all of it as JSON. depart: ARGV an id. workers: ids, or nothing for all of them. */
export const UPKEEP: string = `
modules.prune = function()
  local REMEMBERED, WORKER = 600000, 3600000
  local PAGE = 1000
  return function(args, now)
    local limit = tonumber(args[1])
    local over = redis.call('ZRANGEBYLEX', ${K.expiry}, '-', '(' .. num(now + 1), 'LIMIT', 0, limit)
    local fresh = {}
    for _, member in ipairs(over) do
      local key = sub(member, 9)
      local job = findKey(key)
      takeOutOfArchive(job)
      count(job.q, job.state, -1)
      use('notes').remove(key)
      if job.x.fi > now - REMEMBERED then
        fresh[job.q] = fresh[job.q] or {}
        table.insert(fresh[job.q], job.id)
      end
    end
    -- In which state a job was matters to its settlement alone, and to that these say nothing.
    for q, ids in pairs(fresh) do forget(q, ids, '', 'done', now) end
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K['gone:index']}, '[u', '(u' .. num(now + 1), 'LIMIT', 0, PAGE)) do
      local name = sub(member, -8)
      local token, _, ids = goneIn(redis.call('HGET', ${K.gone}, name))
      redis.call('ZREM', ${K['gone:index']}, member, 'i' .. sub(ids, -16) .. sub(ids, 1, 16) .. name, 't' .. token .. '\\0' .. name)
      redis.call('HDEL', ${K.gone}, name)
    end
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K.windows}, '-', '(' .. num(now + 1), 'LIMIT', 0, PAGE)) do
      local field = sub(member, 9)
      local value = redis.call('HGET', ${K.uniques}, field)
      if value and #value > 16 and numAt(value, 17) <= now then redis.call('HDEL', ${K.uniques}, field) end
      redis.call('ZREM', ${K.windows}, member)
    end
    local workers = redis.call('HGETALL', ${K.workers})
    for i = 1, #workers, 2 do
      if numAt(workers[i + 1], 1) <= now - WORKER then redis.call('HDEL', ${K.workers}, workers[i]) end
    end
    if redis.call('HLEN', ${K.holds}) > 0 then use('holds').prune(now) end
    if redis.call('ZCARD', ${K.busy}) > 0 then use('lines').prune(now) end
    use('notes').prune(now)
    use('documents').prune(PAGE, now)
    use('groups').prune(now)
    return #over
  end
end
modules.attend = function()
  return function(args, now)
    return redis.call('HSET', ${K.workers}, args[1], num(now) .. args[2] .. '\\0' .. args[3])
  end
end
modules.depart = function()
  return function(args) return redis.call('HDEL', ${K.workers}, args[1]) end
end
modules.workers = function()
  return function(args)
    local all = {}
    local values = #args == 0 and redis.call('HVALS', ${K.workers}) or redis.call('HMGET', ${K.workers}, unpack(args))
    for _, value in ipairs(values) do
      if value then
        local place = string.find(value, '\\0', 9, true)
        all[#all + 1] = { numAt(value, 1), sub(value, 9, place - 1), sub(value, place + 1) }
      end
    end
    return all
  end
end
`
