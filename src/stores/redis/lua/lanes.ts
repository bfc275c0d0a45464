import { FACTOR, KEYS, PRIME, SLICES } from '../../../core/lanes/key-range.ts'
import { K } from '../keys.ts'

/**
 * Limited queues: `core/lanes.ts` over hashes, with the eligible lanes sorted by turn and those that wait by the moment
 * at which they wake. What a call changes is kept in tables and written once, at its end or before something searches.
 *
 *   lines  q → clock running fullAt isSliced, then the queue's limits as JSON
 *   lines  "s" space NUL name → running fullAt: what of a shared limit is in use
 *   lanes  q key → turn running fullAt waitUntil heldUntil headAt active standing occupant
 *   busy   "b" q key: lanes with work; "i" q key: lanes without
 *
 * A standing is 1 in `turns`, 2 in `sleepers`, 0 in neither. In a line that is sliced, those in `turns` are in `slices` too.
 */
export const LINES: string = `
modules.lines = function()
  local null = cjson.null
  local LATE, FAR = 20000, 9000000000000000
  local PORTIONS = 64

  -- ── rates and limits ───────────────────────────────────────────────────────────────────────────

  local function spacing(rate) return math.ceil(rate.perMs * 1000 / rate.limit) end

  local function startsAt(rate, fullAt, cost)
    if not rate then return 0 end
    local step = spacing(rate)
    local tolerance = (rate.burst - 1) * step + min(floor(step / 2), LATE)
    return math.ceil((fullAt + (min(cost, rate.burst) - 1) * step - tolerance) / 1000) + 0
  end

  local function charged(rate, fullAt, cost, now)
    if not rate then return fullAt end
    return min(FAR, max(fullAt, now * 1000) + cost * spacing(rate))
  end

  local function roomIn(limit, meter)
    return limit.concurrency and max(0, limit.concurrency - meter.running) or NEVER
  end

  local function given(value) return value ~= nil and value ~= null and value or nil end

  local function queueLimits(fields)
    return {
      concurrency = given(fields.concurrency), rate = given(fields.rate), shared = given(fields.shared),
      lanes = { concurrency = given(fields.laneConcurrency), rate = given(fields.laneRate), strict = fields.strict == true, weight = fields.weight or 1 },
    }
  end

  local function fieldsOf(target)
    local text = redis.call('HGET', ${K.limits}, target)
    if not text then return {} end
    local said, fields = cjson.decode(text), {}
    for _, by in ipairs({ 'declared', 'changed' }) do
      for name, value in pairs(given(said[by]) or {}) do fields[name] = value end
    end
    return fields
  end

  local function targetOf(space, target)
    if target.shared then return space .. '\\0s\\0' .. target.shared end
    if target.lane then return space .. '\\0l\\0' .. target.queue .. '\\0' .. target.lane end
    return space .. '\\0q\\0' .. target.queue
  end

  -- ── what is kept in tables ─────────────────────────────────────────────────────────────────────

  local lines, shares = {}, {}

  local function sharedBy(space, name)
    local key = 's' .. space .. '\\0' .. name
    local known = shares[key]
    if known then return known end
    local value = redis.call('HGET', ${K.lines}, key)
    local running, fullAt = 0, 0
    if value then running, fullAt = struct.unpack('>dd', value) end
    known = { key = key, limit = queueLimits(fieldsOf(targetOf(space, { shared = name }))), running = running, fullAt = fullAt }
    shares[key] = known
    return known
  end

  local function read(q)
    local value = redis.call('HGET', ${K.lines}, q)
    if not value then return nil end
    local clock, running, fullAt, sliced = struct.unpack('>dddB', value)
    local line = { q = q, prefix = q4(q), clock = clock, running = running, fullAt = fullAt, isSliced = sliced == 1, lanes = {}, own = {} }
    line.limits = queueLimits(cjson.decode(sub(value, 26)))
    line.text = sub(value, 26)
    if line.limits.shared then line.shared = sharedBy(nameOf(q).space, line.limits.shared) end
    return line
  end

  local function lineOf(q)
    local line = lines[q]
    if not line then
      line = read(q)
      lines[q] = line
    end
    return line
  end

  local function limitOf(line, key)
    local limit = line.own[key]
    if limit then return limit end
    local name, lanes = nameOf(line.q), line.limits.lanes
    local own = fieldsOf(targetOf(name.space, { queue = name.queue, lane = key }))
    limit = { strict = lanes.strict, weight = own.weight or lanes.weight, concurrency = lanes.concurrency, rate = lanes.rate }
    if own.concurrency ~= nil then limit.concurrency = given(own.concurrency) end
    if own.rate ~= nil then limit.rate = given(own.rate) end
    -- A strict lane has room for one, whatever was said.
    limit.room = limit.strict and 1 or limit.concurrency
    line.own[key] = limit
    return limit
  end

  local function laneIn(key, value)
    local lane = { key = key }
    local active, standing
    lane.turn, lane.running, lane.fullAt, lane.waitUntil, lane.heldUntil, lane.headAt, active, standing = struct.unpack('>ddddddBB', value)
    lane.active, lane.standing = active == 1, standing
    lane.occupant = #value > 50 and sub(value, 51) or nil
    return lane
  end

  local function wakesAt(lane) return max(lane.waitUntil, lane.heldUntil, lane.headAt) end

  local function isBusy(lane) return lane.active or lane.running > 0 or lane.occupant ~= nil end

  -- How a lane is written down in the indexes, as it is now.
  local function indexed(line, lane)
    if lane.standing == 1 then return ${K.turns}, line.prefix .. num(lane.turn) .. lane.key end
    if lane.standing == 2 then return ${K.sleepers}, line.prefix .. num(wakesAt(lane)) .. lane.key end
  end

  -- The slice of a lane's key, see core/key-range.ts. The slice of one that was asked for is kept.
  local sliceOf
  do
    local known = {}
    sliceOf = function(key)
      local slice = known[key]
      if slice then return slice end
      local hash = 0
      for at = 1, #key do hash = (hash + byte(key, at) + 1) * ${FACTOR} % ${PRIME} end
      slice = floor(floor(hash * ${KEYS} / ${PRIME}) / ${KEYS / SLICES})
      known[key] = slice
      return slice
    end
  end

  local function sliced(line, lane)
    if line.isSliced and lane.standing == 1 then return line.prefix .. char(sliceOf(lane.key)) .. num(lane.turn) .. lane.key end
  end

  local function laneOf(line, key)
    local lane = line.lanes[key]
    if lane then return lane end
    local value = redis.call('HGET', ${K.lanes}, line.prefix .. key)
    if value then
      lane = laneIn(key, value)
      lane.set, lane.member = indexed(line, lane)
      lane.sliced = sliced(line, lane)
      lane.list = isBusy(lane) and 'b' or 'i'
    else
      lane = { key = key, turn = line.clock - 1, running = 0, fullAt = 0, waitUntil = 0, heldUntil = 0, headAt = 0, active = false, standing = 0, isNew = true }
    end
    line.lanes[key] = lane
    return lane
  end

  local function limitRoom(line, lane)
    local room = limitOf(line, lane.key).room
    return room and max(0, room - lane.running) or NEVER
  end

  local function isEligible(line, lane, now)
    return lane.active and wakesAt(lane) <= now and limitRoom(line, lane) > 0
  end

  -- A lane was changed: finds its standing. If it is eligible it does not stand behind the clock; unless it was before, and stays.
  local function put(line, lane, now, stays)
    local hasRoom = lane.active and limitRoom(line, lane) > 0
    if not hasRoom then lane.standing = 0
    elseif wakesAt(lane) > now then lane.standing = 2
    else
      if not (stays and lane.standing == 1) then lane.turn = max(lane.turn, line.clock - 1) end
      lane.standing = 1
    end
    lane.isChanged, lane.isNew, line.isChanged = true, false, true
    return lane
  end

  local function write()
    for _, line in pairs(lines) do
      if line.isChanged then
        redis.call('HSET', ${K.lines}, line.q, struct.pack('>dddB', line.clock, line.running, line.fullAt, line.isSliced and 1 or 0) .. line.text)
        line.isChanged = false
        local values, left, came = {}, {}, {}
        local function leaves(set, member) left[set] = left[set] or {}; table.insert(left[set], member) end
        local function comes(set, member) came[set] = came[set] or {}; table.insert(came[set], 0); table.insert(came[set], member) end
        for key, lane in pairs(line.lanes) do
          if lane.isChanged then
            lane.isChanged = false
            values[#values + 1] = line.prefix .. key
            values[#values + 1] = struct.pack('>ddddddBB', lane.turn, lane.running, lane.fullAt, lane.waitUntil, lane.heldUntil, lane.headAt, lane.active and 1 or 0, lane.standing) .. (lane.occupant or '')
            local set, member = indexed(line, lane)
            if member ~= lane.member or set ~= lane.set then
              if lane.set then leaves(lane.set, lane.member) end
              if set then comes(set, member) end
              lane.set, lane.member = set, member
              if line.isSliced then
                if lane.sliced then leaves(${K.slices}, lane.sliced) end
                lane.sliced = sliced(line, lane)
                if lane.sliced then comes(${K.slices}, lane.sliced) end
              end
            end
            local list = isBusy(lane) and 'b' or 'i'
            if list ~= lane.list then
              if lane.list then leaves(${K.busy}, lane.list .. line.prefix .. key) end
              comes(${K.busy}, list .. line.prefix .. key)
              lane.list = list
            end
          end
        end
        send('HSET', ${K.lanes}, values)
        for set, members in pairs(left) do send('ZREM', set, members) end
        for set, members in pairs(came) do send('ZADD', set, members) end
      end
    end
    for _, share in pairs(shares) do
      if share.isChanged then
        share.isChanged = false
        redis.call('HSET', ${K.lines}, share.key, struct.pack('>dd', share.running, share.fullAt))
      end
    end
  end

  local function runs(line, by)
    line.running = line.running + by
    line.isChanged = true
    if line.shared then
      line.shared.running = line.shared.running + by
      line.shared.isChanged = true
    end
  end

  local function activate(line, lane, now, stays)
    lane.active, lane.headAt = true, 0
    return put(line, lane, now, stays)
  end

  -- A queue's line. If it has none it is limited from now on, and what runs and waits is counted.
  local function make(q, now)
    local line = lineOf(q)
    if line then return line end
    use('sheets').settleIn(q)
    local name = nameOf(q)
    local fields = fieldsOf(targetOf(name.space, { queue = name.queue }))
    line = { q = q, prefix = q4(q), clock = 0, running = 0, fullAt = 0, lanes = {}, own = {}, limits = queueLimits(fields), text = cjson.encode(fields), isChanged = true }
    if next(fields) == nil then line.text = '{}' end
    if line.limits.shared then line.shared = sharedBy(name.space, line.limits.shared) end
    lines[q], limited[q] = line, true
    -- No job of it has a lane yet, so all are in the default one.
    for _, member in ipairs(beginning(${K.started}, line.prefix, -1)) do
      local token = sub(member, 13)
      local value = redis.call('HGET', ${K.claims}, claimName(token, q))
      local lane = laneOf(line, '')
      for _ in ipairs(lasting(q, claimIn(value), token)) do
        lane.running = lane.running + 1
        runs(line, 1)
      end
      put(line, lane, now)
    end
    if #beginning(${K.ready}, line.prefix .. '\\0', 1) > 0 then activate(line, laneOf(line, ''), now) end
    return line
  end

  -- ── what happens to lanes ──────────────────────────────────────────────────────────────────────

  local function left(lane, job, to)
    if lane.occupant == job.id and not (to and not FINAL[to]) then lane.occupant = nil end
  end

  -- Keeps account of a job that was changed by anything but a claim.
  local function track(job, from, to, now)
    local line = make(job.q, now)
    local lane = laneOf(line, job.x.l or '')
    if from == 'running' and to ~= 'running' then
      left(lane, job, to)
      lane.running = max(0, lane.running - 1)
      activate(line, lane, now, to ~= 'ready')
      runs(line, -1)
    elseif to == 'ready' or lane.occupant == job.id then
      left(lane, job, to)
      activate(line, lane, now)
    end
  end

  local function waitFor(q, key, moment, now)
    local line = make(q, now)
    local lane = laneOf(line, key)
    lane.waitUntil = max(lane.waitUntil, moment)
    put(line, lane, now)
  end

  local function hold(q, key, moment, now)
    local line = make(q, now)
    local lane = laneOf(line, key)
    lane.heldUntil = moment
    put(line, lane, now)
  end

  local function wake(line, now)
    write()
    local woken = redis.call('ZRANGEBYLEX', ${K.sleepers}, '[' .. line.prefix, '(' .. line.prefix .. num(now + 1), 'LIMIT', 0, 1000)
    if #woken == 0 then return end
    for _, member in ipairs(woken) do put(line, laneOf(line, sub(member, 13)), now) end
    write()
  end

  local function nextWake(q)
    write()
    local first = beginning(${K.sleepers}, q4(q), 1)[1]
    return first and numAt(first, 5) or NEVER
  end

  local function start(line, lane, job, now)
    local limit, cost = limitOf(line, lane.key), job.x.c or 1
    lane.fullAt = charged(limit.rate, lane.fullAt, cost, now)
    lane.running = lane.running + 1
    lane.turn = lane.turn + floor(cost * 1000000 / limit.weight)
    lane.waitUntil = max(lane.waitUntil, startsAt(limit.rate, lane.fullAt, 1))
    lane.occupant = limit.strict and job.id or nil
    put(line, lane, now)
    line.fullAt = charged(line.limits.rate, line.fullAt, cost, now)
    runs(line, 1)
    if line.shared then line.shared.fullAt = charged(line.shared.limit.rate, line.shared.fullAt, cost, now) end
  end

  -- From when on the rates of the whole queue let a job start.
  local function lineStartsAt(line, job)
    local cost = job.x.c or 1
    local at = startsAt(line.limits.rate, line.fullAt, cost)
    if line.shared then at = max(at, startsAt(line.shared.limit.rate, line.shared.fullAt, cost)) end
    return at
  end

  local function hasRoom(line)
    return roomIn(line.limits, line) > 0 and (not line.shared or roomIn(line.shared.limit, line.shared) > 0)
  end

  -- ── serving ────────────────────────────────────────────────────────────────────────────────────

  -- The first ready job of a lane that was not taken in this call.
  local function firstReady(line, lane, ask)
    local buffer = lane.buffer
    if not buffer or (buffer.at > #buffer and #buffer == buffer.asked) then
      local prefix = line.prefix .. lane.key .. '\\0'
      local from = buffer and '(' .. buffer[#buffer].member or '[' .. prefix
      local to = '(' .. line.prefix .. lane.key .. '\\1'
      -- From before the queue had limits.
      if lane.key == '' then use('sheets').spread(from, to, ask) end
      local members = redis.call('ZRANGEBYLEX', ${K.ready}, from, to, 'LIMIT', 0, ask)
      local fresh = { at = 1, asked = ask }
      local ids = {}
      for i, member in ipairs(members) do ids[i] = sub(member, -16) end
      for i, record in ipairs(#ids > 0 and redis.call('HMGET', ${K.jobs}, unpack(keysIn(line.q, ids))) or {}) do
        local job = readRecord(ids[i], record)
        job.state, job.member, job.record = 'ready', members[i], record
        fresh[i] = job
      end
      lane.buffer = fresh
      buffer = fresh
    end
    return buffer[buffer.at]
  end

  local function onTime(line, lane, job, now)
    local at = startsAt(limitOf(line, lane.key).rate, lane.fullAt, job.x.c or 1)
    if at <= now then return job end
    lane.waitUntil = max(lane.waitUntil, at)
    put(line, lane, now)
  end

  -- The job that a lane would start now. If it has none, or none yet, the lane is put aside.
  local function head(line, lane, ask, now)
    if lane.occupant and limitOf(line, lane.key).strict then
      local occupant = find(lane.occupant, tagOf(line.q))
      if occupant and occupant.state == 'ready' then
        occupant.member = readyMember(occupant)
        occupant.record = recordOf(occupant)
        return onTime(line, lane, occupant, now)
      end
      if occupant and occupant.state == 'delayed' then
        lane.headAt = dueOf(occupant)
        put(line, lane, now)
        return nil
      end
      lane.occupant = nil
      put(line, lane, now)
    end
    local job = firstReady(line, lane, ask)
    if job then return onTime(line, lane, job, now) end
    lane.active = false
    put(line, lane, now)
  end

  local function before(a, b) return a.turn < b.turn or (a.turn == b.turn and isBelow(a.key, b.key)) end

  local function push(heap, lane)
    local at = #heap + 1
    heap[at] = lane
    while at > 1 do
      local up = floor(at / 2)
      if not before(heap[at], heap[up]) then return end
      heap[at], heap[up] = heap[up], heap[at]
      at = up
    end
  end

  local function pop(heap)
    local first, last = heap[1], #heap
    heap[1] = heap[last]
    heap[last] = nil
    local at = 1
    while true do
      local least = at
      for child = 2 * at, 2 * at + 1 do
        if heap[child] and before(heap[child], heap[least]) then least = child end
      end
      if least == at then return first end
      heap[at], heap[least] = heap[least], heap[at]
      at = least
    end
  end

  -- Keeps the eligible lanes of each slice apart from now on, so that nobody has to look at those of others.
  local function slice(line)
    if line.isSliced then return end
    write()
    line.isSliced, line.isChanged = true, true
    local from = '[' .. line.prefix
    while true do
      local page, places = redis.call('ZRANGEBYLEX', ${K.turns}, from, '(' .. line.prefix .. '\\255', 'LIMIT', 0, 1000), {}
      for _, member in ipairs(page) do
        places[#places + 1] = 0
        places[#places + 1] = line.prefix .. char(sliceOf(sub(member, 13))) .. sub(member, 5)
      end
      send('ZADD', ${K.slices}, places)
      if #page < 1000 then break end
      from = '(' .. page[1000]
    end
    for _, lane in pairs(line.lanes) do lane.sliced = sliced(line, lane) end
  end

  -- Lanes in the order of their turns: all of a line, or those of each slice from one on and before another.
  local function streamsOf(line, first, stop)
    local streams = {}
    if not first then streams[1] = { set = ${K.turns}, prefix = line.prefix } end
    for number = first or 0, (stop or 0) - 1 do
      streams[#streams + 1] = { set = ${K.slices}, prefix = line.prefix .. char(number) }
    end
    for _, stream in ipairs(streams) do
      stream.from, stream.isMore, stream.page = '[' .. stream.prefix, true, max(2, floor(8 / #streams))
      stream.lastRead = { turn = -NEVER, key = '' }
    end
    return streams
  end

  -- Takes up to so many jobs, each portion from the lane whose turn it is; of some slices, if these are given. Returns their
  -- ids, when a rate of the queue lets the next one start if that is why it stopped, and their records.
  local function serve(q, room, first, stop, now)
    local line = lineOf(q)
    if first then slice(line) end
    wake(line, now)
    if line.isSliced then
      local common = laneOf(line, '')
      if common.standing == 1 and common.turn < line.clock - 1 then
        put(line, common, now)
        write()
      end
    end
    local portion = max(1, floor(room / PORTIONS))
    local heap, streams = {}, streamsOf(line, first, stop)
    local function readLanes(stream)
      local members = redis.call('ZRANGEBYLEX', stream.set, stream.from, '(' .. stream.prefix .. '\\255', 'LIMIT', 0, stream.page)
      stream.isMore = #members == stream.page
      stream.page = min(500, stream.page * 4)
      for _, member in ipairs(members) do
        local at = #stream.prefix + 1
        local lane = laneOf(line, sub(member, at + 8))
        stream.lastRead, stream.from = { turn = numAt(member, at), key = lane.key }, '(' .. member
        if isEligible(line, lane, now) then push(heap, lane) else put(line, lane, now) end
      end
    end
    local function nextLane()
      while true do
        -- Of those that have more, the one of which the least was read: any lane beyond that may come from it.
        local behind
        for _, stream in ipairs(streams) do
          if stream.isMore and (not behind or before(stream.lastRead, behind.lastRead)) then behind = stream end
        end
        if not behind or (heap[1] and not before(behind.lastRead, heap[1])) then return #heap > 0 and pop(heap) or nil end
        readLanes(behind)
      end
    end

    local ids, records, members, ages = {}, {}, {}, {}
    local lane, leftOver, stopsAt = nil, 0, NEVER
    while #ids < room and hasRoom(line) do
      local goesOn = lane and leftOver > 0 and isEligible(line, lane, now)
      if not goesOn then
        if lane and isEligible(line, lane, now) then push(heap, lane) end
        lane = nextLane()
        if not lane then break end
        leftOver = portion
      end
      local job = head(line, lane, min(room - #ids, max(leftOver, 1)), now)
      if job then
        local at = lineStartsAt(line, job)
        if at > now then
          stopsAt = at
          break
        end
        if not goesOn then line.clock = max(line.clock, lane.turn) end
        start(line, lane, job, now)
        if lane.buffer and lane.buffer[lane.buffer.at] and lane.buffer[lane.buffer.at].id == job.id then lane.buffer.at = lane.buffer.at + 1 end
        ids[#ids + 1] = job.id
        records[#records + 1] = job.record
        members[#members + 1] = job.member
        addAges(ages, job)
        leftOver = leftOver - 1
      end
    end
    send('ZREM', ${K.ready}, members)
    send('ZREM', ${K.ages}, ages)
    for _, known in pairs(line.lanes) do known.buffer = nil end
    write()
    return ids, stopsAt, records
  end

  -- Whether a named job may start, if nothing stands against it. It starts out of turn, so the clock stays.
  local function takeNamed(job, now)
    local line = lineOf(job.q)
    wake(line, now)
    local lane = activate(line, laneOf(line, job.x.l or ''), now)
    local limit = limitOf(line, lane.key)
    if not hasRoom(line) or not isEligible(line, lane, now) then return false end
    if startsAt(limit.rate, lane.fullAt, job.x.c or 1) > now then return false end
    if limit.strict then
      local first = head(line, lane, 1, now)
      lane.buffer = nil
      if not first or first.id ~= job.id then return false end
    end
    if lineStartsAt(line, job) > now then return false end
    start(line, lane, job, now)
    return true
  end

  -- ── what is said and asked ─────────────────────────────────────────────────────────────────────

  -- What the limits of a queue are has changed: every lane that has work finds its standing anew.
  local function refresh(q, now)
    write()
    local line = make(q, now)
    local name = nameOf(q)
    local fields = fieldsOf(targetOf(name.space, { queue = name.queue }))
    line.text = next(fields) == nil and '{}' or cjson.encode(fields)
    line.limits, line.own = queueLimits(fields), {}
    local share = line.limits.shared and sharedBy(name.space, line.limits.shared)
    if share ~= line.shared then
      local running = line.running
      runs(line, -running)
      line.shared = share
      runs(line, running)
    end
    local from = '[b' .. line.prefix
    while true do
      local page = redis.call('ZRANGEBYLEX', ${K.busy}, from, '(b' .. line.prefix .. '\\255', 'LIMIT', 0, 1000)
      for _, member in ipairs(page) do put(line, laneOf(line, sub(member, 6)), now, true) end
      if #page < 1000 then break end
      from = '(' .. page[1000]
    end
    line.isChanged = true
    write()
  end

  local function setLimits(space, target, by, fields, now)
    local key = targetOf(space, target)
    local text = redis.call('HGET', ${K.limits}, key)
    local said = text and cjson.decode(text) or { declared = null, changed = null }
    if by == 'code' then said.declared = fields
    elseif fields == null then said.changed = null
    else
      local changed = given(said.changed) or {}
      for name, value in pairs(fields) do changed[name] = value end
      said.changed = changed
    end
    said.target = target
    if said.declared == null and said.changed == null then redis.call('HDEL', ${K.limits}, key)
    else redis.call('HSET', ${K.limits}, key, cjson.encode(said)) end
    if target.queue then
      local q = makeNumber(space, target.queue)
      make(q, now)
      refresh(q, now)
    else
      write()
      shares, lines = {}, {}
    end
    return cjson.encode(said)
  end

  local function meterView(meter, limit)
    return { meter.running, startsAt(limit.rate, meter.fullAt, 1) }
  end

  local function view(call, now)
    local q = numberOf(call.space, call.queue)
    local line = q and lineOf(q)
    if not line then return { now, '', '', {} } end
    local keys = {}
    if call.lanes then
      for _, key in ipairs(call.lanes) do
        if redis.call('HEXISTS', ${K.lanes}, line.prefix .. key) == 1 then keys[#keys + 1] = key end
      end
      table.sort(keys, isBelow)
    else
      local from = call.after and '(b' .. line.prefix .. call.after or '[b' .. line.prefix
      for i, member in ipairs(redis.call('ZRANGEBYLEX', ${K.busy}, from, '(b' .. line.prefix .. '\\255', 'LIMIT', 0, call.limit)) do
        keys[i] = sub(member, 6)
      end
    end
    local all = {}
    for _, key in ipairs(keys) do
      if #all < call.limit and (not call.after or key > call.after) then
        local lane = laneOf(line, key)
        local at = max(lane.waitUntil, startsAt(limitOf(line, key).rate, lane.fullAt, 1))
        all[#all + 1] = { key, lane.running, at, lane.occupant or '' }
      end
    end
    return { now, meterView(line, line.limits), line.shared and meterView(line.shared, line.shared.limit) or '', all }
  end

  -- Forgets lanes that have nothing to remember: a page of those without work, and the next one the next time.
  local function prune(now)
    write()
    local after = redis.call('HGET', ${K.meta}, 'pruned lane') or ''
    local page = redis.call('ZRANGEBYLEX', ${K.busy}, after == '' and '[i' or '(' .. after, '(j', 'LIMIT', 0, 1000)
    redis.call('HSET', ${K.meta}, 'pruned lane', #page == 1000 and page[1000] or '')
    for _, member in ipairs(page) do
      local line = lineOf((struct.unpack('>I4', member, 2)))
      local key = sub(member, 6)
      local lane = laneOf(line, key)
      if wakesAt(lane) <= now and lane.fullAt <= now * 1000 and lane.turn <= line.clock - 1 then
        redis.call('HDEL', ${K.lanes}, line.prefix .. key)
        redis.call('ZREM', ${K.busy}, member)
        line.lanes[key] = nil
      end
    end
  end

  return {
    track = track, wait = waitFor, hold = hold, serve = serve, takeNamed = takeNamed, nextWake = nextWake,
    setLimits = setLimits, view = view, prune = prune, write = write, make = make, sliceOf = sliceOf,
  }
end
modules.lanes = function()
  return function(args, now) return use('lines').view(cjson.decode(args[1]), now) end
end
modules.setLimits = function()
  return function(args, now)
    local call, said = cjson.decode(args[1]), {}
    for i, one in ipairs(call.limits) do
      local fields = one.fields
      said[i] = use('lines').setLimits(call.space, one.target, one.by, fields == nil and cjson.null or fields, now)
    end
    return said
  end
end
modules.limits = function()
  return function(args)
    local found, prefix = {}, args[1] .. '\\0'
    local all = redis.call('HGETALL', ${K.limits})
    for i = 1, #all, 2 do
      if sub(all[i], 1, #prefix) == prefix then found[#found + 1] = all[i + 1] end
    end
    return found
  end
end
`
