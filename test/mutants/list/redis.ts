import type { Mutant } from '../mutant.ts'

const SUITE = 'test/conformance/redis.test.ts'
const LUA = 'src/stores/redis/lua'

const mutant = (
  name: string,
  rule: Mutant['rule'],
  file: Mutant['file'],
  [find, replace]: readonly [find: string, replace: string],
  story: string,
  killedBy: Mutant['killedBy'],
): Mutant => ({ name: `redis-${name}`, incidents: [], rule, file, find, replace, story, killedBy })

const inSuite = (test: string): Mutant['killedBy'] => ({ vitest: SUITE, test })

/** The script of the Redis store, and what sends it. */
export const REDIS_MUTANTS: readonly Mutant[] = [
  mutant(
    'settle-without-token',
    'R1',
    `${LUA}/settle.ts`,
    ['if not known or sub(known, 14) ~= token then', 'if not known then'],
    'Whoever lost a lease can still end the job of the one who has it now.',
    inSuite('refuses the token of an earlier lease once another worker holds the job'),
  ),
  mutant(
    'extend-without-token',
    'R1',
    `${LUA}/settle.ts`,
    ['if known and known.token == token then\n        renewed', 'if known then\n        renewed'],
    'A worker prolongs the lease of another one.',
    inSuite('refuses a token that does not hold the job, and leaves the lease alone'),
  ),
  mutant(
    'rescue-not-rechecked',
    'R8',
    `${LUA}/settle.ts`,
    [
      'if more.onlyIfExpired and lease.till > now then',
      'if more.onlyIfExpired and lease.till > now + 86400000 then',
    ],
    'A lease that was prolonged after somebody saw it end is taken away.',
    inSuite('refuses a rescue when the lease was extended meanwhile'),
  ),
  mutant(
    'key-kept-at-the-end',
    'R2',
    `${LUA}/settle.ts`,
    ['      releaseKey(job, false)\n    end\n    if verdict.lane', '    end\n    if verdict.lane'],
    'A unique key stays with a job that has ended, and nobody can enqueue it again.',
    inSuite('gives a key up when its job is discarded, removed, cancelled, buried or put aside'),
  ),
  mutant(
    'key-of-another-let-go',
    'R13',
    `${LUA}/jobs.ts`,
    ["if value and sub(value, 1, 16) == job.id then redis.call('HDEL'", "if value then redis.call('HDEL'"],
    'A job that ends lets go of a key that another job has by now.',
    inSuite('lets only the holder give a key up'),
  ),
  mutant(
    'count-drifts',
    'R2',
    `${LUA}/settle.ts`,
    ["count(q, 'running', -#going)", "count(q, 'running', -1)"],
    'Jobs that end together are counted as one, so the counts drift away from what is there.',
    { vitest: 'test/redis/audit.test.ts', test: 'finds nothing wrong after jobs of several claims' },
  ),
  mutant(
    'hold-forgotten-for-named',
    'R2',
    `${LUA}/claim.ts`,
    [
      'local isHeldUntil = again and 0 or heldUntil(space, queue, now)',
      'local isHeldUntil = (again or ids) and 0 or heldUntil(space, queue, now)',
    ],
    'A hint with ids starts jobs of a queue that is held.',
    inSuite('starts nothing of a queue that is held, and all of it once it is released'),
  ),
  mutant(
    'promoted-early',
    'R3',
    `${LUA}/claim.ts`,
    ['local function promote(q, now)', 'local function promote(q, moment)\n    local now = moment + 1'],
    'A delayed job starts a millisecond early.',
    inSuite('never hands out a delayed job early'),
  ),
  mutant(
    'named-early',
    'R3',
    `${LUA}/claim.ts`,
    [
      "(job.state == 'ready' or job.state == 'delayed') and dueOf(job) <= now then",
      "(job.state == 'ready' or job.state == 'delayed') then",
    ],
    'A hint with ids starts a job long before its time.',
    inSuite('takes a named delayed job as soon as it is due'),
  ),
  mutant(
    'claim-again-keeps-old-leases',
    'R3',
    `${LUA}/claim.ts`,
    [
      'held[#held + 1] = leaseOf(now + leaseMs, q, one.mark, token)',
      'held[#held + 1] = leaseOf(one.till, q, one.mark, token)',
    ],
    'A claim that is repeated gives back jobs whose leases are nearly over.',
    inSuite('gives the jobs that its token holds to a claim that is repeated, and takes nothing new'),
  ),
  mutant(
    'lane-room-off-by-one',
    'R9',
    `${LUA}/lines.ts`,
    [
      'return room and max(0, room - lane.running) or NEVER',
      'return room and max(0, room - lane.running + 1) or NEVER',
    ],
    'One more job of a lane runs than may.',
    inSuite('runs no more of a lane at once than may'),
  ),
  mutant(
    'room-leaks',
    'R9',
    `${LUA}/lines.ts`,
    [
      "      activate(line, lane, now, to ~= 'ready')\n      runs(line, -1)",
      '      activate(line, lane, now)',
    ],
    'The room of a job that ended is never free again, until nothing starts.',
    inSuite('frees room whatever the end of a lease is'),
  ),
  mutant(
    'lane-asleep-for-ever',
    'R17',
    `${LUA}/lines.ts`,
    [
      'for _, member in ipairs(woken) do put(line, laneOf(line, sub(member, 13)), now) end',
      'for _, member in ipairs(woken) do laneOf(line, sub(member, 13)) end',
    ],
    'A lane that waited for its rate never gets a turn again.',
    inSuite('limits the rate of each lane by itself'),
  ),
  mutant(
    'occupant-overtaken',
    'R12',
    `${LUA}/lines.ts`,
    ['lane.occupant = limit.strict and job.id or nil', 'lane.occupant = nil'],
    'While the head of a strict lane waits for another try, the next job starts.',
    inSuite('lets nothing overtake a job that waits for another try'),
  ),
  mutant(
    'group-fired-twice',
    'R20',
    `${LUA}/groups.ts`,
    [
      'for _, event in ipairs(due) do group.fired = group.fired + BITS[event] end',
      'for _, event in ipairs(due) do local _ = BITS[event] end',
    ],
    'A group that has fired does so again, whenever something happens to one of its members.',
    inSuite('enqueues once, also when what it enqueued is long gone'),
  ),
  mutant(
    'member-counted-twice',
    'R20',
    `${LUA}/groups.ts`,
    [
      'countMember(group, before and before.state, outcome.state, now)',
      'countMember(group, nil, outcome.state, now)',
    ],
    'A member that ends a second time counts twice, and the group fires too early.',
    inSuite('keeps what a member gave when that is redriven, until it ends again'),
  ),
  mutant(
    'pruned-early',
    'R2',
    `${LUA}/upkeep.ts`,
    ["'-', '(' .. num(now + 1), 'LIMIT', 0, limit)", "'-', '(' .. num(now + 2), 'LIMIT', 0, limit)"],
    'A finished job goes before its time is over.',
    inSuite('removes a finished job when its time is over, and not before'),
  ),
  mutant(
    'discarded-forgotten',
    'R2',
    `${LUA}/jobs.ts`,
    ["if again and hasLeft(new.id) then return 'done', now end", 'if again and false then return new.id end'],
    'An enqueue that is sent again because its answer was lost runs a job a second time.',
    inSuite('does not insert a discarded job anew when the call is repeated'),
  ),
  mutant(
    'expired-in-order-of-claims',
    'R8',
    `${LUA}/reads.ts`,
    ['if numAt(member, 5) > found[call.limit].till then break end', 'break'],
    'Of leases that ended together those of one claim come first, and others wait behind them.',
    inSuite(
      'lists the first of all even when it may list one, whoever claimed it and however it was prolonged',
    ),
  ),
  mutant(
    'bound-not-lowered',
    'R8',
    `${LUA}/settle.ts`,
    ['if till < known.till then lower(token, known.q, till) end', ''],
    'A lease that was made shorter is not found when it is over.',
    inSuite('finds a lease that was made shorter as soon as it is over'),
  ),
  mutant(
    'claim-left-behind',
    'R2',
    `${LUA}/leases.ts`,
    ["claim.worker .. '\\\\0'", "claim.worker .. '\\\\1'"],
    'What a worker has claimed stays listed when it is over, so the list grows for ever.',
    { vitest: 'test/redis/audit.test.ts', test: 'notices what is left over' },
  ),
  mutant(
    'gone-never-forgotten',
    'R21',
    `${LUA}/upkeep.ts`,
    ["'(u' .. num(now + 1), 'LIMIT', 0, PAGE)", "'(u' .. num(0), 'LIMIT', 0, PAGE)"],
    'Jobs that left are remembered for ever.',
    { vitest: 'test/redis/audit.test.ts', test: 'notices what is left over' },
  ),
  mutant(
    'walks-through-the-waiting',
    'R21',
    `${LUA}/sheets.ts`,
    [
      '    if #found == 0 then return {} end\n',
      "    redis.call('HKEYS', KEYS[4])\n    if #found == 0 then return {} end\n",
    ],
    'Every claim looks at all jobs there are.',
    { vitest: 'test/redis/cost.test.ts', test: 'never looks for keys' },
  ),
  mutant(
    'script-forgotten',
    'R16',
    'src/stores/redis/caller.ts',
    [
      "if (!messageOf(error).startsWith('NOSCRIPT')) throw error",
      'if (messageOf(error).length > 0) throw error',
    ],
    'After a restart of the server, which has forgotten the script, nothing works any more.',
    { vitest: 'test/redis/script.test.ts' },
  ),
  mutant(
    'loading-taken-for-unsafe',
    'R11',
    'src/stores/redis/durability.ts',
    ["if (info['loading'] === '1') {", "if (info['loading'] === 'yes') {"],
    'A server that is still reading its log is taken for one without a log, and workers end for good.',
    { vitest: 'test/redis/loading.test.ts' },
  ),
]
