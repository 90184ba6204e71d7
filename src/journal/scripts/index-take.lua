-- Takes what is due out of the sweep index, each entry for one sweeper, by putting it off a little. Of a crowd that waits in one lane
-- it gives the sweeper a few: each other has its job, or waits in the lane's gate, so that it only has to be looked at later. So has what
-- a worker has in hand just now, where many are due.
-- Must never take an entry out for good: a sweeper that dies now leaves all it took to the next one.
-- @include include-given.lua
-- @include include-job-data.lua
-- @include include-tag.lua
--
-- KEYS[1] sweep index: sorted set `<request>/<directive>` by when to look
-- ARGV[1] the most that are given   ARGV[2] hold_ms: how long nobody else looks at what is taken here
-- ARGV[3] prefix of the installation's keys, where all keys are in one slot ('' = what is due is given, and nothing else is looked at)
-- then, where there is a prefix: ARGV[4] the most that are looked at   ARGV[5] the most of one lane that wait for the same reason and are given
--   ARGV[6], ARGV[7] shortest and longest time to the next look of the others   ARGV[8] how many of ARGV[5] were given just before
-- Returns { now, 1 = more may be due, { member, its score from now on, its mark }... }; all but the members are numbers as text.
local PREFIX, GIVEN = ARGV[3], tonumber(ARGV[1])
local CROWD, SHORTEST_MS, LONGEST_MS = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local ALREADY = tonumber(ARGV[8])
local SEEN = (PREFIX == '') and GIVEN or tonumber(ARGV[4])
-- What was begun or has succeeded less than so long ago is in the hand of a living worker, which forgets it here when it has ended.
local IN_HAND_MS = 1000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- An eighth in the score marks what a sweeper has taken: nothing else writes such a score.
local held = now + tonumber(ARGV[2]) + 0.125
local crowds, scored, taken = {}, {}, {}

-- Of one that waits: since when it may begin, and by when it is to; nil = it is not its first attempt that it waits for, or it begins later.
local function begun_since(state, id)
  local record = redis.call('HMGET', state, id .. '|begin', id .. '|fence')
  local at, by = string.match(record[1] or '', '^(%d+) (%S+)$')
  if at and not record[2] and tonumber(at) <= now then
    return tonumber(at), tonumber(by) or math.huge
  end
end

-- Whether it is on its way: its job is in the lane, or it waits in the lane's gate, which each process looks at.
local function is_known(lane, member)
  local tag = '{' .. PREFIX .. ':' .. lane .. '}:'
  local base = tag .. lane .. ':'
  return redis.call('EXISTS', base .. job_id(member)) > 0
    or redis.call('HEXISTS', tag .. 'gate:items', member) == 1
end

-- nil = it is a run's, or one of spans or of notices, which begin with @.
local function record_of(member)
  local slash = string.find(member, '/', 1, true) or 0
  local id = string.sub(member, slash + 1)
  if string.byte(id) ~= 64 then
    local state = PREFIX .. ':' .. tag_of(string.sub(member, 1, slash - 1)) .. ':state'
    local status, waits = unpack(redis.pcall('HMGET', state, id .. '|status', id .. '|waits'))
    return { member = member, id = id, state = state, status = status, waits = waits }
  end
end

-- Of a directive that nobody has taken yet, and that is on its way: the lane and why it was said to wait, since when, until when at the
-- most. nil = the sweeper has to look.
local function waiting(record)
  local since, by = nil, math.huge
  if record.status == 'waiting' then
    since, by = begun_since(record.state, record.id)
  end
  if record.status ~= 'accepted' and not since then
    return
  end
  local lane, accepted_at, deadline_at = given_of(record.state, record.id)
  if is_known(lane, record.member) then
    local said = record.waits and string.match(record.waits, '^%S+ %S+') or ''
    return lane .. ' ' .. said, since or accepted_at, math.min(deadline_at, by)
  end
end

-- When to look at one of a crowd: the later, the more there are. nil = it is given.
local function later_in_crowd(record)
  local crowd, since, deadline_at = waiting(record)
  if not crowd or deadline_at <= now then
    return
  end
  local place = (crowds[crowd] or ALREADY) + 1
  crowds[crowd] = place
  if place > CROWD then
    local pause_ms = math.max(now - since, SHORTEST_MS * place / CROWD)
    return math.min(now + math.min(pause_ms, LONGEST_MS), deadline_at)
  end
end

-- Not later than its lease and its deadline end. nil = nobody has it in hand.
local function in_hand_until(record)
  local at, ends_at = nil, math.huge
  if record.status == 'running' then
    local began_at, lease_until, deadline_at =
      unpack(redis.call('HMGET', record.state, record.id .. '|started_at', record.id .. '|lease_until', record.id .. '|deadline_at'))
    at, ends_at = began_at, math.min(tonumber(lease_until or '0'), tonumber(deadline_at or '') or 0)
  elseif record.status == 'succeeded' then
    at = redis.call('HGET', record.state, record.id .. '|ended_at')
  end
  local until_at = at and math.min(tonumber(at) + IN_HAND_MS, ends_at)
  return until_at and until_at > now and until_at or nil
end

local function put_off(member)
  local record = record_of(member)
  return record and (in_hand_until(record) or later_in_crowd(record))
end

local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.999, 'WITHSCORES', 'LIMIT', 0, SEEN)
-- As many as are given in any case are no crowd.
local crowded = PREFIX ~= '' and #due > 2 * CROWD
local more = #due >= 2 * SEEN
for index = 1, #due, 2 do
  local member, before = due[index], tonumber(due[index + 1])
  -- Halves and quarters are the marks of the index itself.
  local mark = math.floor((before - math.floor(before)) * 4) / 4
  local later = crowded and mark == 0 and put_off(member)
  if not later and #taken >= 3 * GIVEN then
    more = true
    break
  end
  local score = later and string.format('%d', later) or string.format('%.3f', held + mark)
  scored[#scored + 1] = score
  scored[#scored + 1] = member
  if not later then
    taken[#taken + 1] = member
    taken[#taken + 1] = score
    taken[#taken + 1] = string.format('%.2f', mark)
  end
end
if #scored > 0 then
  redis.call('ZADD', KEYS[1], unpack(scored))
end
return { string.format('%.0f', now), more and 1 or 0, unpack(taken) }
