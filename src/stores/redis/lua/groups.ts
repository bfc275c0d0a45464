import { NEEDS_ALL, OPEN, UNMADE_MS } from '../../../core/flows/groups.ts'
import { RUN_GROUP_VERSION } from '../../../core/flows/runs.ts'
import { AUDIT_OUTCOMES } from '../../../store/flows.ts'
import { K } from '../keys.ts'

/**
 * Groups and runs: `core/groups.ts` and `core/runs.ts` over hashes. What a group is made of never changes and is JSON; how
 * far it is has a fixed size, so that counting a member rewrites nothing else. It is written once, at the end of a call.
 *
 *   groups      id → JSON as it was made; "n" id → size need failing done failed fired created ended keep flags, which are the
 *               sum of 1: a run waits for it; and 2: it enqueues something
 *   outcomes    group n → state length id length result failure, where the second length is that of the result and 1, or 0
 *               if there is none            results    group n
 *   members     group n → "j" and the id of a job, or "r" and that of a run, that has not ended
 *   runs        space NUL id → JSON
 *   runs:index  "a" space NUL id, "f" space NUL flow NUL id, "s" space NUL status NUL id, "x" space NUL attribute NUL id,
 *               "r" space NUL root NUL id: how runs are found. "g" space NUL run group. "o" group: those that have not ended.
 *   flows:end   moment "r" space NUL id, moment "g" id, and moment "u" id of groups of which there are outcomes, but which nobody made
 */
export const GROUPS: string = `
modules.groups = function()
  local null = cjson.null
  local EVENTS = { 'success', 'failure', 'settled' }
  local BITS = { success = 1, failure = 2, settled = 4 }
  local FAILING = { first = 1, hopeless = 2, ['end'] = 3 }
  local function given(value)
    if value == null then return nil end
    return value
  end
  local UNMADE = ${UNMADE_MS}
  local function n4(n) return struct.pack('>I4', n) end

  -- Groups that this call looks at, and those of which something changed, each with when it had ended before.
  local known, touched, was = {}, {}, {}
  -- Those that are to be written.
  local unsaved = {}

  local function endMember(group)
    if not group.ended or group.hasRun then return nil end
    return num(group.ended + group.keepMs) .. 'g' .. group.id
  end

  -- Reads those that this call does not know yet.
  local function readAll(ids)
    local asked, names = {}, {}
    for _, id in ipairs(ids) do
      if known[id] == nil then
        known[id] = false
        asked[#asked + 1], names[#names + 1] = id, 'n' .. id
      end
    end
    for i, value in ipairs(ask('HMGET', ${K.groups}, names)) do
      if value then
        local group, flags = { id = asked[i] }, nil
        group.size, group.need, group.failing, group.done, group.failed, group.fired, group.created, group.ended, group.keepMs, flags =
          struct.unpack('>ddBddBdddB', value)
        if group.ended < 0 then group.ended = nil end
        group.hasRun, group.hasJobs = flags % 2 == 1, flags >= 2
        -- Where it is listed.
        group.endsAs, group.isOpen = endMember(group), group.ended == nil
        known[group.id] = group
      end
    end
  end

  local function read(id)
    if known[id] == nil then readAll({ id }) end
    return known[id] or nil
  end

  local function changes(group)
    if group.isUnsaved then return end
    group.isUnsaved = true
    unsaved[#unsaved + 1] = group
  end

  local function write()
    local rows, ending, staying, opened, closed = {}, {}, {}, {}, {}
    for _, group in ipairs(unsaved) do
      group.isUnsaved = false
      rows[#rows + 1] = 'n' .. group.id
      rows[#rows + 1] = struct.pack('>ddBddBdddB', group.size, group.need, group.failing, group.done, group.failed, group.fired,
        group.created, group.ended or -1, group.keepMs, (group.hasRun and 1 or 0) + (group.hasJobs and 2 or 0))
      local endsAs, isOpen = endMember(group), group.ended == nil
      if endsAs ~= group.endsAs then
        if group.endsAs then staying[#staying + 1] = group.endsAs end
        if endsAs then ending[#ending + 1], ending[#ending + 2] = 0, endsAs end
      end
      if isOpen and not group.isOpen then opened[#opened + 1], opened[#opened + 2] = 0, 'o' .. group.id
      elseif group.isOpen and not isOpen then closed[#closed + 1] = 'o' .. group.id end
      group.endsAs, group.isOpen = endsAs, isOpen
    end
    unsaved = {}
    send('HSET', ${K.groups}, rows)
    send('ZREM', ${K['flows:end']}, staying)
    send('ZADD', ${K['flows:end']}, ending)
    send('ZADD', ${K['runs:index']}, opened)
    send('ZREM', ${K['runs:index']}, closed)
  end

  local function isFailed(state) return state and state ~= 'done' end

  local function recount(group, was, is, now)
    group.done = group.done + (is == 'done' and 1 or 0) - (was == 'done' and 1 or 0)
    group.failed = group.failed + (isFailed(is) and 1 or 0) - (isFailed(was) and 1 or 0)
    local hasEnded = group.done + group.failed == group.size
    group.ended = hasEnded and (group.ended or now) or nil
  end

  local function touch(group, ended)
    if was[group.id] == nil then
      was[group.id] = ended or false
      touched[#touched + 1] = group.id
    end
  end

  local function countMember(id, before, is, now)
    local group = read(id)
    if not group then
      -- Somebody may make it yet; if not, what is known of it goes some day.
      if not redis.call('HGET', ${K.groups}, 'u' .. id) then
        redis.call('HSET', ${K.groups}, 'u' .. id, num(now + UNMADE))
        redis.call('ZADD', ${K['flows:end']}, 0, num(now + UNMADE) .. 'u' .. id)
      end
      return
    end
    local ended = group.ended
    recount(group, before, is, now)
    changes(group)
    touch(group, ended)
  end

  local function stateIn(outcome) return outcome and STATES[sub(outcome, 1, 1)] end
  local function idIn(outcome) return sub(outcome, 3, 2 + byte(outcome, 2)) end

  -- See staysDone in core/groups.ts. The first bit is that of success.
  local function staysDone(group, was, is)
    return was == 'done' and is ~= 'done' and group and group.need > 0 and group.fired % 2 == 1
  end

  -- Members have ended, each { group, n, id, state, result, failure }: in one go, however many.
  local function endAll(members, now)
    local groups, names, values, places, said, at = {}, {}, {}, {}, {}, 0
    for i, one in ipairs(members) do groups[i], names[i] = one[1], one[1] .. n4(one[2]) end
    readAll(groups)
    for i, before in ipairs(ask('HMGET', ${K.outcomes}, names)) do
      local name, one = names[i], members[i]
      local id, state, result = one[3], one[4], one[5]
      local was = said[name] or stateIn(before)
      if not staysDone(known[one[1]], was, state) then
        at = at + 2
        values[at - 1] = name
        values[at] = struct.pack('>c1Bc0I4', CODES[state], #id, id, result and #result + 1 or 0) .. (result or '') .. (one[6] or '')
        places[at - 1], places[at] = 0, name
        countMember(one[1], was, state, now)
        said[name] = state
      end
    end
    send('HSET', ${K.outcomes}, values)
    send('ZADD', ${K.results}, places)
  end

  local function ends(group, n, id, state, result, failure, now)
    endAll({ { group, n, id, state, result, failure } }, now)
  end

  local function reopens(group, n, now)
    local name = group .. n4(n)
    local before = redis.call('HGET', ${K.outcomes}, name)
    if stateIn(before) == 'done' then return end
    redis.call('HDEL', ${K.outcomes}, name)
    redis.call('ZREM', ${K.results}, name)
    countMember(group, stateIn(before), nil, now)
  end

  -- ── making ─────────────────────────────────────────────────────────────────────────────────────

  local function makeGroups(list, now)
    local ids, early, rows, found = {}, {}, {}, {}
    for i, sent in ipairs(list) do ids[i], early[i] = sent.id, 'u' .. sent.id end
    readAll(ids)
    early = ask('HMGET', ${K.groups}, early)
    for i, sent in ipairs(list) do
      if not known[sent.id] then
        local run = given(sent.run)
        local group = { id = sent.id, size = sent.size, need = sent.need, failing = FAILING[sent.failing], done = 0, failed = 0, fired = 0, created = now, keepMs = sent.keepMs, hasRun = run ~= nil, hasJobs = sent.hasJobs }
        -- Somebody outside was earlier.
        if early[i] then
          local names = beginning(${K.results}, sent.id, -1)
          for _, outcome in ipairs(ask('HMGET', ${K.outcomes}, names)) do recount(group, nil, stateIn(outcome), now) end
          redis.call('HDEL', ${K.groups}, 'u' .. sent.id)
          redis.call('ZREM', ${K['flows:end']}, early[i] .. 'u' .. sent.id)
        end
        if group.size == 0 then group.ended = now end
        known[sent.id] = group
        rows[#rows + 1], rows[#rows + 2] = sent.id, sent.text
        if run then found[#found + 1], found[#found + 2] = 0, 'g' .. sent.space .. '\\0' .. run .. sent.id end
        changes(group)
        touch(group, nil)
      end
    end
    send('HSET', ${K.groups}, rows)
    send('ZADD', ${K['runs:index']}, found)
  end

  local function nameOfRun(run) return run.space .. '\\0' .. run.id end

  local function readRun(name)
    local text = redis.call('HGET', ${K.runs}, name)
    return text and cjson.decode(text)
  end

  local function writeRun(before, run)
    redis.call('HSET', ${K.runs}, nameOfRun(run), cjson.encode(run))
    if not before then
      local names = { 'a' .. run.space .. '\\0' .. run.id, 'f' .. run.space .. '\\0' .. run.flow .. '\\0' .. run.id, 'r' .. run.space .. '\\0' .. run.root .. '\\0' .. run.id }
      for _, attribute in ipairs(run.attributes) do names[#names + 1] = 'x' .. run.space .. '\\0' .. attribute .. '\\0' .. run.id end
      for _, name in ipairs(names) do redis.call('ZADD', ${K['runs:index']}, 0, name) end
    end
    if not before or before.status ~= run.status then
      if before then redis.call('ZREM', ${K['runs:index']}, 's' .. run.space .. '\\0' .. before.status .. '\\0' .. run.id) end
      redis.call('ZADD', ${K['runs:index']}, 0, 's' .. run.space .. '\\0' .. run.status .. '\\0' .. run.id)
    end
    local was, is = before and given(before.expiresAt), given(run.expiresAt)
    if was ~= is then
      if was then redis.call('ZREM', ${K['flows:end']}, num(was) .. 'r' .. nameOfRun(run)) end
      if is then redis.call('ZADD', ${K['flows:end']}, 0, num(is) .. 'r' .. nameOfRun(run)) end
    end
    local member = given(run.member)
    if member then
      local name = member.group .. n4(member.n)
      if run.status == 'running' then redis.call('HSET', ${K.members}, name, 'r' .. run.id) else redis.call('HDEL', ${K.members}, name) end
    end
  end

  local function makeRun(sent, now)
    if redis.call('HEXISTS', ${K.runs}, nameOfRun(sent)) == 1 then return false end
    sent.status, sent.revision, sent.startedAt, sent.changedAt = 'running', 0, now, now
    writeRun(nil, sent)
    return true
  end

  -- Which of these runs cannot be, because runs of other flows have their ids: ids, each with a flow.
  local function takenRuns(runs)
    local taken, flows, told = {}, {}, {}
    for _, run in ipairs(runs) do
      local name = nameOfRun(run)
      local there = not flows[name] and readRun(name)
      flows[name] = flows[name] or (there and there.flow) or run.flow
      if flows[name] ~= run.flow and not told[name] then
        taken[#taken + 1], taken[#taken + 2], told[name] = run.id, flows[name], true
      end
    end
    return taken
  end

  local fired = {}
  local function insert(draft, now)
    local job = draftOf(draft)
    local state, moment, action = insertOne(job, false, false, now)
    if not state and action == 'ignored' then return end
    -- Otherwise the one that holds its key has come to another place.
    if not state then moment = job.due end
    local known = fired[job.q]
    local rank = moment - (job.x.p or 0) * STEP
    if not known then fired[job.q] = { moment, rank }
    else known[1], known[2] = min(known[1], moment), min(known[2], rank) end
  end

  local function includes(list, id)
    for _, one in ipairs(type(list) == 'table' and list or {}) do
      if one == id then return true end
    end
    return false
  end

  -- See mayRunAgain in core/runs.ts. The second bit is that of failure.
  local function mayRunAgain(run, id)
    local at = cjson.decode(run.position)
    if type(at) ~= 'table' then at = {} end
    if includes(at.undos, id) then return true end
    local waits = type(at.waits) == 'table' and at.waits.id
    if run.status == 'done' or run.status == 'cancelled' or waits ~= id or given(at.failure) then return false end
    return floor(read(id).fired / BITS.failure) % 2 == 0 or type(at.done) ~= 'table' or #at.done == 0
  end

  -- See mayRejoin there.
  local function mayRejoin(id)
    while id do
      local text = redis.call('HGET', ${K.groups}, id)
      if not text then return sub(id, 15, 15) ~= '${RUN_GROUP_VERSION}' end
      local group = cjson.decode(text)
      if not given(group.run) then return true end
      local run = readRun(group.space .. '\\0' .. group.run)
      if not run or not mayRunAgain(run, id) then return false end
      local member = given(run.member)
      id = member and member.group
    end
    return true
  end

  -- ── moving ─────────────────────────────────────────────────────────────────────────────────────

  local function move(sent, now)
    local run = readRun(nameOfRun(sent))
    if not run then return 'unknown' end
    if run.revision ~= sent.revision then return 'moved' end
    local isMended = run.status == 'failed' and sent.status == 'done'
    if run.status ~= 'running' and sent.status ~= 'running' and not isMended then return 'over' end
    if run.status ~= 'running' and sent.status == 'running' and given(run.member) and not mayRejoin(run.member.group) then return 'over' end
    local after = {}
    for name, value in pairs(run) do after[name] = value end
    after.revision = run.revision + 1
    after.position, after.state = sent.position or run.position, sent.state or run.state
    after.status, after.changedAt = sent.status or run.status, now
    after.endedAt, after.expiresAt, after.result, after.failure = nil, nil, nil, nil
    local member = given(run.member)
    if after.status ~= 'running' then
      after.endedAt, after.result, after.failure = now, given(sent.result), given(sent.failure)
      if not member then after.expiresAt = now + (sent.keepMs or 0) end
    end
    writeRun(run, after)
    for _, one in ipairs(sent.runs) do makeRun(one, now) end
    makeGroups(sent.groups, now)
    for _, one in ipairs(sent.jobs) do insert(one, now) end
    if member then
      if after.status ~= 'running' then
        ends(member.group, member.n, run.id, after.status, after.result, after.failure, now)
      elseif run.status ~= 'running' and run.status ~= 'done' then reopens(member.group, member.n, now) end
    end
    return 'ok'
  end

  local REMOVED = '{"kind":"cancel","message":"The job was removed."}'

  -- Keeps account of a job that changed.
  local function track(job, from, to, now, ending)
    local group, n = job.g[1], job.g[2]
    local name = group .. n4(n)
    if to and not FINAL[to] then
      if not from or FINAL[from] then redis.call('HSET', ${K.members}, name, 'j' .. job.id) end
      -- One that was done stays so until it ends again.
      if from and FINAL[from] then reopens(group, n, now) end
      return
    end
    redis.call('HDEL', ${K.members}, name)
    if not to and not ending and FINAL[from] then return end -- Its outcome stays.
    local outcome = ending or to and { state = to, result = job.x.r, failure = job.x.f } or { state = 'cancelled', failure = REMOVED }
    ends(group, n, job.id, outcome.state, outcome.result, outcome.failure, now)
  end

  -- Its place goes to another job.
  local function handOn(job)
    redis.call('HDEL', ${K.members}, job.g[1] .. n4(job.g[2]))
    job.g = nil
  end

  local function duplicate(job, holder, now)
    local failure = '{"kind":"duplicate","message":' .. quoted('Its unique key is held by job "' .. uuidOf(holder) .. '".') .. '}'
    ends(job.g[1], job.g[2], job.id, 'cancelled', nil, failure, now)
  end

  local function isMember(group, space, uuid)
    local id = idOf(uuid)
    local key = id .. tagFor(space)
    if redis.call('HEXISTS', ${K.jobs}, key) == 1 or redis.call('HEXISTS', ${K.archive}, key) == 1 then return true end
    for _, outcome in ipairs(ask('HMGET', ${K.outcomes}, beginning(${K.results}, group, -1))) do
      if idIn(outcome) == id then return true end
    end
    return false
  end

  local function tell(call, now)
    local text = redis.call('HGET', ${K.groups}, call.group)
    local isTold = redis.call('HEXISTS', ${K.outcomes}, call.group .. n4(call.n)) == 1
    if (text and cjson.decode(text).space ~= call.space) or isTold then return 'told' end
    ends(call.group, call.n, '', 'done', given(call.result), nil, now)
    return 'ok'
  end

  -- Adds members to an open group, or seals it. Returns a status and how many it has then.
  local function addMembers(call, now)
    local text = redis.call('HGET', ${K.groups}, call.group)
    if not text or cjson.decode(text).space ~= call.space then return 'unknown', 0 end
    local group, jobs = read(call.group), call.jobs
    local isOpen = group.size < 0
    local before = isOpen and ${OPEN} - group.size or group.size
    if call.again and jobs[1] and isMember(call.group, call.space, jobs[1].id) then jobs = {} end
    if #jobs > 0 and not isOpen then return 'sealed', before end
    if isOpen then
      group.size = group.size - #jobs
      if call.seal then
        group.size = ${OPEN} - group.size
        if group.need == ${NEEDS_ALL} then group.need = group.size end
        group.ended = group.done + group.failed == group.size and now or nil
      end
      changes(group)
      touch(group, nil)
    end
    for _, draft in ipairs(jobs) do
      draft.g = { call.group, before + draft.g[2] }
      insert(draft, now)
    end
    return 'ok', before + #jobs
  end

  -- ── firing ─────────────────────────────────────────────────────────────────────────────────────

  local function isTrue(event, group)
    if event == 'success' then return group.done >= group.need end
    if event == 'settled' then return group.done + group.failed == group.size end
    if group.done >= group.need then return false end
    if group.failing == 1 then return group.failed > 0 end
    if group.failing == 2 then return group.size - group.failed < group.need end
    return group.done + group.failed == group.size
  end

  local function dueEvents(group)
    local due = {}
    for _, event in ipairs(EVENTS) do
      if floor(group.fired / BITS[event]) % 2 == 0 and isTrue(event, group) then due[#due + 1] = event end
    end
    return due
  end

  local function fire(now)
    local at = 1
    while at <= #touched do
      local id = touched[at]
      local ended = was[id]
      was[id] = nil
      at = at + 1
      local group = read(id)
      local due = dueEvents(group)
      for _, event in ipairs(due) do group.fired = group.fired + BITS[event] end
      -- One that went on and ended again in the same call has never gone on for others.
      if group.ended and ended then group.ended = ended end
      changes(group)
      if #due > 0 and group.hasJobs then
        local jobs = cjson.decode(redis.call('HGET', ${K.groups}, id)).jobs
        for _, event in ipairs(due) do
          if given(jobs[event]) then insert(jobs[event], now) end
        end
      end
    end
    touched = {}
    write()
    local list = {}
    for q, one in pairs(fired) do
      local name = nameOf(q)
      list[#list + 1] = { name.space, name.queue, one[1], string.format('%.0f', one[2]) }
    end
    fired = {}
    return list
  end

  -- ── looking ────────────────────────────────────────────────────────────────────────────────────

  local function show(space, id)
    local text = redis.call('HGET', ${K.groups}, id)
    if not text or cjson.decode(text).space ~= space then return '' end
    local group = read(id)
    return { text, group.done, group.failed, group.fired, group.created, group.ended or '', group.size, group.need }
  end

  local function belongs(space, id)
    local text = redis.call('HGET', ${K.groups}, id)
    return text and cjson.decode(text).space == space
  end

  local function outcomes(call)
    local all = {}
    for i, id in ipairs(call.groups) do
      local found = {}
      if belongs(call.space, id) then
        local names = redis.call('ZRANGEBYLEX', ${K.results}, '[' .. id .. n4(call.from), '(' .. id .. '\\255\\255\\255\\255\\255', 'LIMIT', 0, call.limit)
        for at, outcome in ipairs(ask('HMGET', ${K.outcomes}, names)) do
          found[2 * at - 1], found[2 * at] = (struct.unpack('>I4', names[at], #id + 1)), outcome
        end
      end
      all[i] = found
    end
    return all
  end

  local function openMembers(call)
    local found, id = {}, call.group
    if not belongs(call.space, id) then return found end
    local size = read(id).size
    if size < 0 then size = ${OPEN} - size end
    for from = call.from, size - 1, 500 do
      local names = {}
      for n = from, min(from + 499, size - 1) do names[#names + 1] = id .. n4(n) end
      for i, member in ipairs(ask('HMGET', ${K.members}, names)) do
        if member and redis.call('HEXISTS', ${K.outcomes}, names[i]) == 0 then
          found[#found + 1] = { from + i - 1, sub(member, 2), byte(member) == 106 and 'job' or 'run' }
          if #found == call.limit then return found end
        end
      end
    end
    return found
  end

  local function listRuns(call)
    local space = call.space .. '\\0'
    local prefix = 'a' .. space
    if call.root then prefix = 'r' .. space .. call.root .. '\\0'
    elseif call.attribute then prefix = 'x' .. space .. call.attribute .. '\\0'
    elseif call.status and call.status ~= 'done' then prefix = 's' .. space .. call.status .. '\\0'
    elseif call.flow then prefix = 'f' .. space .. call.flow .. '\\0'
    elseif call.status then prefix = 's' .. space .. call.status .. '\\0' end
    local found, cursor = {}, ''
    local high = call.cursor and '(' .. prefix .. call.cursor or '(' .. prefix .. '\\255'
    while true do
      local page = redis.call('ZREVRANGEBYLEX', ${K['runs:index']}, high, '[' .. prefix, 'LIMIT', 0, 200)
      for _, member in ipairs(page) do
        local text = redis.call('HGET', ${K.runs}, space .. sub(member, #prefix + 1))
        local run = cjson.decode(text)
        local fits = (call.branches or not given(run.member)) and (not call.flow or run.flow == call.flow)
          and (not call.status or run.status == call.status) and (not call.root or run.root == call.root)
        if fits and call.attribute then
          fits = false
          for _, one in ipairs(run.attributes) do fits = fits or one == call.attribute end
        end
        if fits then
          if #found == call.limit then return { found, cursor } end
          found[#found + 1] = text
          cursor = run.id
        end
      end
      if #page < 200 then return { found, '' } end
      high = '(' .. page[200]
    end
  end

  -- ── keeping in order ───────────────────────────────────────────────────────────────────────────

  local function audit(call, now)
    local mended, cursor, counted = {}, '', 0
    local page = redis.call('ZRANGEBYLEX', ${K['runs:index']}, call.cursor and '(o' .. call.cursor or '[o', '(p', 'LIMIT', 0, call.limit + 1)
    for i = 1, min(#page, call.limit) do
      if counted >= ${AUDIT_OUTCOMES} then
        cursor = sub(page[i - 1], 2)
        break
      end
      local id = sub(page[i], 2)
      local group = read(id)
      local done, failed = 0, 0
      for _, outcome in ipairs(ask('HMGET', ${K.outcomes}, beginning(${K.results}, id, -1))) do
        if stateIn(outcome) == 'done' then done = done + 1 else failed = failed + 1 end
      end
      counted = counted + done + failed
      local isMiscounted = group.done ~= done or group.failed ~= failed
      group.done, group.failed = done, failed
      if isMiscounted or #dueEvents(group) > 0 then
        touch(group, nil)
        mended[#mended + 1] = { cjson.decode(redis.call('HGET', ${K.groups}, id)).space, id, isMiscounted and 'counts' or 'fire' }
      end
    end
    if cursor == '' and #page > call.limit then cursor = sub(page[call.limit], 2) end
    return { mended, fire(now), cursor }
  end

  local function removeGroup(id)
    local group = read(id)
    if not group then return end
    if group.endsAs then redis.call('ZREM', ${K['flows:end']}, group.endsAs) end
    redis.call('ZREM', ${K['runs:index']}, 'o' .. id)
    redis.call('HDEL', ${K.groups}, id, 'n' .. id)
    local names = beginning(${K.results}, id, -1)
    send('HDEL', ${K.outcomes}, names)
    send('ZREM', ${K.results}, names)
    known[id] = false
  end

  local function removeRun(run)
    local own = 'g' .. nameOfRun(run)
    for _, member in ipairs(beginning(${K['runs:index']}, own, -1)) do
      removeGroup(sub(member, #own + 1))
      redis.call('ZREM', ${K['runs:index']}, member)
    end
    local names = { 'a' .. run.space .. '\\0' .. run.id, 'f' .. run.space .. '\\0' .. run.flow .. '\\0' .. run.id, 'r' .. run.space .. '\\0' .. run.root .. '\\0' .. run.id, 's' .. run.space .. '\\0' .. run.status .. '\\0' .. run.id }
    for _, attribute in ipairs(run.attributes) do names[#names + 1] = 'x' .. run.space .. '\\0' .. attribute .. '\\0' .. run.id end
    send('ZREM', ${K['runs:index']}, names)
    if given(run.expiresAt) then redis.call('ZREM', ${K['flows:end']}, num(run.expiresAt) .. 'r' .. nameOfRun(run)) end
    redis.call('HDEL', ${K.runs}, nameOfRun(run))
    local member = given(run.member)
    if member then redis.call('HDEL', ${K.members}, member.group .. n4(member.n)) end
  end

  local function prune(now)
    for _, member in ipairs(redis.call('ZRANGEBYLEX', ${K['flows:end']}, '-', '(' .. num(now + 1), 'LIMIT', 0, 1000)) do
      local kind, id = sub(member, 9, 9), sub(member, 10)
      if kind == 'g' then removeGroup(id)
      elseif kind == 'u' then
        redis.call('HDEL', ${K.groups}, 'u' .. id)
        redis.call('ZREM', ${K['flows:end']}, member)
        local names = beginning(${K.results}, id, -1)
        send('HDEL', ${K.outcomes}, names)
        send('ZREM', ${K.results}, names)
      else
        local top = readRun(id)
        local prefix = 'r' .. id .. '\\0'
        for _, name in ipairs(beginning(${K['runs:index']}, prefix, -1)) do
          removeRun(readRun(top.space .. '\\0' .. sub(name, #prefix + 1)))
        end
      end
    end
  end

  -- The places of the runs that were there before.
  local function make(sent, now)
    local known = {}
    for n, run in ipairs(sent.runs) do
      if not makeRun(run, now) then known[#known + 1] = n - 1 end
    end
    makeGroups(sent.groups, now)
    return known
  end

  return {
    mayRejoin = mayRejoin, takenRuns = takenRuns, make = make, makeGroups = makeGroups, move = move, handOn = handOn, track = track, endAll = endAll, duplicate = duplicate, tell = tell, addMembers = addMembers, fire = fire,
    show = show, outcomes = outcomes, openMembers = openMembers, listRuns = listRuns, audit = audit, prune = prune,
  }
end
modules.moveRuns = function()
  return function(args, now)
    local results = {}
    for i, move in ipairs(cjson.decode(args[1])) do results[i] = use('groups').move(move, now) end
    return { results, enqueued(now) }
  end
end
modules.getRuns = function()
  return function(args)
    local call, found = cjson.decode(args[1]), {}
    for i, id in ipairs(call.ids) do
      found[i] = redis.call('HGET', ${K.runs}, call.space .. '\\0' .. id) or ''
    end
    return found
  end
end
modules.listRuns = function()
  return function(args) return use('groups').listRuns(cjson.decode(args[1])) end
end
modules.countRuns = function()
  return function(args)
    local page, counts, list = use('groups').listRuns(cjson.decode(args[1])), {}, {}
    for _, text in ipairs(page[1]) do
      local run = cjson.decode(text)
      local key = run.status .. '\\0' .. run.version .. '\\0' .. run.flow
      if not counts[key] then
        counts[key] = { run.flow, run.version, run.status, 0 }
        list[#list + 1] = counts[key]
      end
      counts[key][4] = counts[key][4] + 1
    end
    return { list, page[2] }
  end
end
modules.getGroups = function()
  return function(args)
    local call, found = cjson.decode(args[1]), {}
    for i, id in ipairs(call.ids) do found[i] = use('groups').show(call.space, id) end
    return found
  end
end
modules.outcomes = function()
  return function(args) return use('groups').outcomes(cjson.decode(args[1])) end
end
modules.openMembers = function()
  return function(args) return use('groups').openMembers(cjson.decode(args[1])) end
end
modules.tell = function()
  return function(args, now)
    local status = use('groups').tell(cjson.decode(args[1]), now)
    return { status, enqueued(now) }
  end
end
modules.addMembers = function()
  return function(args, now)
    local status, size = use('groups').addMembers(cjson.decode(args[1]), now)
    return { status, size, enqueued(now) }
  end
end
modules.auditGroups = function()
  return function(args, now) return use('groups').audit(cjson.decode(args[1]), now) end
end
`
