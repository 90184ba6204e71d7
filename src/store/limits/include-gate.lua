-- The gate of a lane: directives that wait for their turn, and for the limits they are under, before they have a job.
-- Must never let more hold a limit than it allows, count anybody by a number instead of by name, or do more than a bounded piece of work.
--
-- KEYS[1]: what the names of all its keys begin with, in the slot of the lane. A member is `<request>/<directive>`. A turn is
-- `<tenant>.<key>`, hashed; a line is a turn with a set of limits.
--   items       hash  member -> turn|arrival|priority|weight|owner|digest|limits; its order is its arrival, less 30 s for each priority
--   line:<l>    zset  members by order               lines:<turn>  zset  its lines that may go on, by their first order
--   ready:      zset  tenants that may go on, by start tag    ready:<tenant>  zset  its turns, likewise
--   finish      hash  tenant or turn -> finish tag, while it has members    load  hash  likewise -> how many
--   idle:, idle:<tenant>  zset  those without members, until the virtual time there has passed them
--   v           hash  virtual time: '' = of all, tenant = of its turns    keys  hash  tenant -> its turns of which something is known
--   out         zset  members released or running, by the end of their pass or lease
--   passes      zset  those of them that have not begun, by when their job is added once more
--   held:<c>    set   members that hold the limit c    given:<c>  set  those of them that have not begun
--   starts:<c>  list  when members under the limit c began, newest first, as many as its rate allows
--   blocked:<c> zset  lines that wait for the limit c, by finish tag, then by order    at  hash  such a line -> c|its entry there
--   asleep      zset  `i<member>` and `c<limit>` by the instant that they wait for
--   limits      hash  c -> concurrency|max|per_ms|when what says so was accepted ('' = none)    uses  hash  c -> members that name it
--   last        the last order by arrival    clock  hash  seen: when a script was here last; lease; graced: see `arrive`;
--                    ahead: see `go_ahead`
-- An open gated directive is in a line, asleep or out. Who holds a limit is out, or is `~<line>`: the first of a line that has waited long
-- keeps what it could have while it waits for another limit.
local GATE = KEYS[1]

-- Milliseconds.
local PASS_MS, ANNOUNCE_MS, LATE_MS, AHEAD_MS = 15000, 1000, 100, 50
-- @guard flow-strict-priority
local PRIORITY_MS, BEFORE = 30000, 1e-6
-- Redis, or everybody who looks after the gate, was away for so long; leases are given anew at most so often.
local STILL_MS, GRACE_EVERY_MS = 3000, 30000
-- Who has waited for so long is not passed by for ever by those who need fewer limits.
local LONG_MS = 30000
-- Of one call.
local MOST_GRACED = 1000
local MOST_LOOKS, MOST_LAPSED = 100, 20
-- Turns of one tenant that are known; the others share one.
local MOST_TURNS = 1000

local function key(name)
  return GATE .. name
end

local gate_time = redis.call('TIME')
local NOW = tonumber(gate_time[1]) * 1000 + math.floor(tonumber(gate_time[2]) / 1000)
-- Members whose job is to be added, and their digests.
local released = {}
local looks = 0
-- Who went ahead last, while none of the others has begun since; nil or false = nobody.
local ahead

local function whole(n)
  return string.format('%.0f', n)
end

local function real(n)
  return string.format('%.17g', n)
end

local function item_of(member)
  local text = redis.call('HGET', key('items'), member)
  if not text then
    return nil
  end
  local field = '([^|]*)|'
  local turn, arrived, priority, weight, owner, digest, named = string.match(text, '^' .. string.rep(field, 6) .. '(.*)$')
  local item = { member = member, turn = turn, arrived = tonumber(arrived), priority = tonumber(priority), weight = tonumber(weight), owner = owner,
    digest = digest, named = named, limits = {} }
  item.order = item.arrived - item.priority * PRIORITY_MS
  item.tenant = string.match(turn, '^[^.]*')
  for name in string.gmatch(named, '[^,]+') do
    item.limits[#item.limits + 1] = name
  end
  item.line = string.sub(redis.sha1hex(turn .. '|' .. named), 1, 20)
  return item
end

local function write_item(item)
  local text = table.concat({ item.turn, string.format('%.3f', item.arrived), whole(item.priority), real(item.weight), item.owner, item.digest,
    item.named }, '|')
  redis.call('HSET', key('items'), item.member, text)
end

-- Called first by each script that writes. After a standstill those who run are given their lease once more before anybody looks at it:
-- nobody could have extended it. In an empty gate it writes nothing: nobody would remove it.
local function arrive()
  local seen, graced, lease
  seen, graced, lease, ahead = unpack(redis.call('HMGET', key('clock'), 'seen', 'graced', 'lease', 'ahead'))
  local still_ms = NOW - tonumber(seen or NOW)
  if seen and still_ms < STILL_MS / 6 then
    return
  end
  if redis.call('EXISTS', key('items')) == 0 then
    return
  end
  redis.call('HSET', key('clock'), 'seen', whole(NOW))
  -- A lease is extended after a third of it: no standstill may be longer than what is left, and pass for none.
  -- @guard flow-standstill
  if not lease or still_ms < math.min(STILL_MS, tonumber(lease) / 3) or NOW - tonumber(graced or '0') < GRACE_EVERY_MS then
    return
  end
  redis.call('HSET', key('clock'), 'graced', whole(NOW))
  local until_at = whole(NOW + tonumber(lease))
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key('out'), '-inf', until_at, 'LIMIT', 0, MOST_GRACED)) do
    if item_of(member).owner ~= '' then
      redis.call('ZADD', key('out'), until_at, member)
    end
  end
end

-- `scope`: '' = tenants, else a tenant, whose turns they are; `name`: one of these.
local function virtual(scope)
  return tonumber(redis.call('HGET', key('v'), scope) or '0')
end

-- Where it goes on: just before those that have been served as often.
local function finish_of(scope, name)
  return math.max(virtual(scope) - BEFORE, tonumber(redis.call('HGET', key('finish'), name) or '0'))
end

local function make_ready(scope, name)
  local ready = key('ready:' .. scope)
  if not redis.call('ZSCORE', ready, name) then
    redis.call('ZADD', ready, real(finish_of(scope, name)), name)
  end
end

-- It was served from `start` on.
local function advance(scope, name, start, step)
  local finish = real(start + step)
  redis.call('HSET', key('v'), scope, real(math.max(virtual(scope), start)))
  redis.call('HSET', key('finish'), name, finish)
  redis.call('ZADD', key('ready:' .. scope), 'XX', finish, name)
end

-- The first member of a line and its order; nothing = the line is empty.
local function first_of(line)
  -- @guard turn-order
  local first = redis.call('ZRANGE', key('line:' .. line), 0, 0, 'WITHSCORES')
  return first[1], tonumber(first[2])
end

local function limit_of(name)
  local concurrency, max, per = string.match(redis.call('HGET', key('limits'), name) or '||', '^(%d*)|(%d*)|(%d*)')
  return tonumber(concurrency), tonumber(max), tonumber(per)
end

-- When the next start under a rate may be, as far as those before it decide; 0 = now. Half of it may begin at once, the rest in its
-- spacing, `ahead` of them together where that is finer than a round trip.
local function next_start(name, max, per)
  local starts = key('starts:' .. name)
  local newest = redis.call('LINDEX', starts, 0)
  -- @guard limit-rate
  if not newest then
    return 0
  end
  local at, late = 0, math.min(LATE_MS, per)
  local oldest = redis.call('LINDEX', starts, max - 1)
  if oldest then
    at = tonumber(oldest) + per + late
  end
  local half = math.ceil(max / 2)
  local middle = redis.call('LINDEX', starts, half - 1)
  if middle and tonumber(middle) + per + late > NOW then
    local ahead = math.min(half, math.max(1, math.floor(max * AHEAD_MS / per)))
    at = math.max(at, tonumber(redis.call('LINDEX', starts, ahead - 1)) + ahead * per / max)
  end
  return math.ceil(at)
end

-- How many under a rate may be on their way to their start at once.
local function most_given(name, max, per)
  local ahead = math.max(1, math.floor(max * AHEAD_MS / per))
  return math.max(ahead, math.ceil(max / 2) - redis.call('LLEN', key('starts:' .. name)))
end

-- Whether a limit admits one more, of `line`, which may have kept a place. Then, if not: the instant when it may; nothing = when somebody
-- gives it back.
local function has_room(name, line)
  local concurrency, max, per = limit_of(name)
  local kept = (line and redis.call('SISMEMBER', key('held:' .. name), '~' .. line) == 1) and 1 or 0
  -- @guard limit-at-once
  if concurrency and redis.call('SCARD', key('held:' .. name)) - kept >= concurrency then
    return false
  end
  if not max then
    return true
  end
  local at = next_start(name, max, per)
  if at > NOW then
    return false, at
  end
  return redis.call('SCARD', key('given:' .. name)) - kept < most_given(name, max, per)
end

local function sleep_until(entry, at)
  redis.call('ZADD', key('asleep'), whole(at), entry)
end

-- A line that has members goes on.
local function go_on(item, order)
  redis.call('ZADD', key('lines:' .. item.turn), real(order), item.line)
  make_ready(item.tenant, item.turn)
  make_ready('', item.tenant)
end

local function stop_line(item)
  redis.call('ZREM', key('lines:' .. item.turn), item.line)
  if redis.call('EXISTS', key('lines:' .. item.turn)) == 0 then
    redis.call('ZREM', key('ready:' .. item.tenant), item.turn)
    if redis.call('EXISTS', key('ready:' .. item.tenant)) == 0 then
      redis.call('ZREM', key('ready:'), item.tenant)
    end
  end
end

-- The places that a line has kept: all or none.
local function unkeep(item)
  for _, name in ipairs(item.limits) do
    redis.call('SREM', key('held:' .. name), '~' .. item.line)
    redis.call('SREM', key('given:' .. name), '~' .. item.line)
  end
end

-- The first of a line has waited long: it keeps its place under each limit before the one that refuses it. All lines ask in the order of
-- the names, so none of those that keep something waits for one that waits for it.
local function keep(item, refusing)
  for _, name in ipairs(item.limits) do
    if name == refusing then
      return
    end
    redis.call('SADD', key('held:' .. name), '~' .. item.line)
    redis.call('SADD', key('given:' .. name), '~' .. item.line)
  end
end

local function entry_of(line, order)
  return string.format('%018.3f', order) .. line
end

local function park(item, name, at)
  stop_line(item)
  local entry = entry_of(item.line, item.order)
  -- @guard turn-share
  redis.call('ZADD', key('blocked:' .. name), real(finish_of('', item.tenant)), entry)
  redis.call('HSET', key('at'), item.line, name .. '|' .. entry)
  if at then
    sleep_until('c' .. name, at)
  end
end

-- Where a line waits for a limit: the limit, and its entry there.
local function parked_at(line)
  local place = redis.call('HGET', key('at'), line)
  if place then
    return string.match(place, '^([^|]*)|(.*)$')
  end
end

-- A limit may have room: one line that waits for it goes on, which wakes the next one when it has gone.
local function wake(name)
  local blocked = key('blocked:' .. name)
  if redis.call('EXISTS', blocked) == 0 then
    return
  end
  local room, at = has_room(name)
  if not room then
    if at then
      sleep_until('c' .. name, at)
    end
    return
  end
  local entry = redis.call('ZPOPMIN', blocked)[1]
  local line = string.sub(entry, 19)
  redis.call('HDEL', key('at'), line)
  local item = item_of((first_of(line)))
  go_on(item, item.order)
end

local function wake_all(limits)
  for _, name in ipairs(limits) do
    wake(name)
  end
end

-- Puts a member in its line.
local function line_up(item)
  local line = key('line:' .. item.line)
  redis.call('ZADD', line, string.format('%.3f', item.order), item.member)
  local first, order = first_of(item.line)
  local name, entry = parked_at(item.line)
  if not name then
    go_on(item, order)
  elseif first == item.member then
    local blocked = key('blocked:' .. name)
    local score = redis.call('ZSCORE', blocked, entry)
    redis.call('ZREM', blocked, entry)
    entry = entry_of(item.line, order)
    redis.call('ZADD', blocked, score, entry)
    redis.call('HSET', key('at'), item.line, name .. '|' .. entry)
  end
end

-- Takes a member out of its line; whoever waited behind it for a limit is woken in its place.
local function take_from_line(item)
  redis.call('ZREM', key('line:' .. item.line), item.member)
  local _, order = first_of(item.line)
  local name, entry = parked_at(item.line)
  if name then
    redis.call('ZREM', key('blocked:' .. name), entry)
    redis.call('HDEL', key('at'), item.line)
  end
  unkeep(item)
  if order then
    go_on(item, order)
  else
    stop_line(item)
  end
  wake_all(item.limits)
end

-- Gives back what a member has, so that it is no longer out.
local function give_back(item)
  redis.call('ZREM', key('out'), item.member)
  redis.call('ZREM', key('passes'), item.member)
  for _, name in ipairs(item.limits) do
    redis.call('SREM', key('held:' .. name), item.member)
    redis.call('SREM', key('given:' .. name), item.member)
  end
end

-- What is out goes back to its line, or sleeps until `at`.
local function back_in_line(item, at)
  give_back(item)
  item.owner = ''
  write_item(item)
  if at and at > NOW then
    sleep_until('i' .. item.member, at)
  else
    line_up(item)
  end
  wake_all(item.limits)
end

-- Nothing is known of a tenant any more, nor of its turns.
local function forget_tenant(tenant)
  redis.call('HDEL', key('keys'), tenant)
  redis.call('HDEL', key('v'), tenant)
  redis.call('UNLINK', key('idle:' .. tenant))
end

local function forget_idle(scope, name)
  if scope == '' then
    forget_tenant(name)
  elseif redis.call('HINCRBY', key('keys'), scope, -1) <= 0 then
    redis.call('HDEL', key('keys'), scope)
  end
end

-- Those without members are known until virtual time has passed them: who comes again at once is no newcomer.
local function prune(scope)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('idle:' .. scope), '-inf', real(virtual(scope)), 'LIMIT', 0, 5)) do
    redis.call('ZREM', key('idle:' .. scope), name)
    forget_idle(scope, name)
  end
end

local function is_known(scope, name)
  return redis.call('HEXISTS', key('load'), name) == 1 or redis.call('ZSCORE', key('idle:' .. scope), name)
end

-- One more member. A newcomer is before those who are there.
local function join(scope, name)
  if redis.call('HINCRBY', key('load'), name, 1) == 1 then
    local finish = redis.call('ZSCORE', key('idle:' .. scope), name)
    redis.call('HSET', key('finish'), name, finish or real(virtual(scope) - BEFORE))
    redis.call('ZREM', key('idle:' .. scope), name)
  end
end

-- One member less.
local function part(scope, name)
  if redis.call('HINCRBY', key('load'), name, -1) > 0 then
    return
  end
  local finish = tonumber(redis.call('HGET', key('finish'), name) or '0')
  redis.call('HDEL', key('load'), name)
  redis.call('HDEL', key('finish'), name)
  if finish > virtual(scope) then
    redis.call('ZADD', key('idle:' .. scope), real(finish), name)
  else
    forget_idle(scope, name)
  end
end

local function forget_limits(item)
  for _, name in ipairs(item.limits) do
    if redis.call('HINCRBY', key('uses'), name, -1) <= 0 then
      redis.call('HDEL', key('uses'), name)
      redis.call('HDEL', key('limits'), name)
    end
  end
end

-- Forgets a member that is in no line and not out.
local function forget(item)
  redis.call('HDEL', key('items'), item.member)
  forget_limits(item)
  if redis.call('EXISTS', key('items')) == 0 then
    for _, tenant in ipairs(redis.call('HKEYS', key('keys'))) do
      redis.call('UNLINK', key('idle:' .. tenant))
    end
    -- @guard gate-leftovers
    redis.call('DEL', key('ready:'), key('idle:'), key('v'), key('last'), key('clock'), key('keys'), key('load'), key('finish'), key('asleep'),
      key('passes'), key('at'), key('limits'), key('uses'))
    return
  end
  part(item.tenant, item.turn)
  part('', item.tenant)
  prune(item.tenant)
  prune('')
end

-- Lets the first member of a line out: it has all its limits from here on.
local function give(item, start, start_of_turn)
  redis.call('ZREM', key('line:' .. item.line), item.member)
  redis.call('ZADD', key('out'), whole(NOW + PASS_MS), item.member)
  redis.call('ZADD', key('passes'), whole(NOW + ANNOUNCE_MS), item.member)
  unkeep(item)
  for _, name in ipairs(item.limits) do
    redis.call('SADD', key('held:' .. name), item.member)
    redis.call('SADD', key('given:' .. name), item.member)
  end
  local _, order = first_of(item.line)
  if order then
    redis.call('ZADD', key('lines:' .. item.turn), real(order), item.line)
  else
    stop_line(item)
  end
  advance('', item.tenant, start, 1 / item.weight)
  advance(item.tenant, item.turn, start_of_turn, 1)
  released[#released + 1] = item
end

-- The first limit of a member that admits nobody now, and when it may; nothing = it may go.
local function refusing(item)
  for _, name in ipairs(item.limits) do
    local room, at = has_room(name, item.line)
    if not room then
      return name, at
    end
  end
end

-- Lets out what may go, while no more are out than `capacity`. Returns whether there is more to look at.
local function release(capacity)
  local room = capacity - redis.call('ZCARD', key('out'))
  while room > 0 and looks < MOST_LOOKS do
    -- @guard flow-share-of-keys
    local first = redis.call('ZRANGE', key('ready:'), 0, 0, 'WITHSCORES')
    if not first[1] then
      return false
    end
    looks = looks + 1
    local turn = redis.call('ZRANGE', key('ready:' .. first[1]), 0, 0, 'WITHSCORES')
    local line = redis.call('ZRANGE', key('lines:' .. turn[1]), 0, 0)[1]
    local item = item_of((first_of(line)))
    local name, at = refusing(item)
    if not name then
      give(item, tonumber(first[2]), tonumber(turn[2]))
      room = room - 1
    else
      -- @guard flow-passed-by
      if NOW - item.arrived > LONG_MS then
        keep(item, name)
      end
      park(item, name, at)
    end
    -- Another line that waited for the same limit may go on in its place.
    for _, other in ipairs(item.limits) do
      -- @guard flow-unblock-lost
      if other ~= name then
        wake(other)
      end
    end
  end
  return room > 0 and redis.call('EXISTS', key('ready:')) == 1
end

-- The only member of its turn, which is next: it does not wait for the end of another, but is let out beside as many as may be, to be begun
-- before those that have not begun. Once only until one of these begins, so that none is passed by for ever. Returns whether it is.
local function go_ahead(item, capacity)
  -- @guard flow-go-ahead
  if capacity < 1 or ahead or redis.call('ZCARD', key('out')) ~= capacity or redis.call('HGET', key('load'), item.turn) ~= '1' then
    return false
  end
  local tenant = redis.call('ZRANGE', key('ready:'), 0, 0, 'WITHSCORES')
  local turn = redis.call('ZRANGE', key('ready:' .. item.tenant), 0, 0, 'WITHSCORES')
  -- @guard flow-go-ahead-limit
  if tenant[1] ~= item.tenant or turn[1] ~= item.turn or refusing(item) then
    return false
  end
  give(item, tonumber(tenant[2]), tonumber(turn[2]))
  wake_all(item.limits)
  redis.call('HSET', key('clock'), 'ahead', item.member)
  return true
end

-- The one way back for what was let out and not seen again. Returns the members.
local function lapse()
  -- @guard limit-lease
  local lapsed = redis.call('ZRANGEBYSCORE', key('out'), '-inf', whole(NOW), 'LIMIT', 0, MOST_LAPSED)
  for _, member in ipairs(lapsed) do
    back_in_line(item_of(member))
  end
  return lapsed
end

-- What slept until now.
local function wake_asleep()
  for _, entry in ipairs(redis.call('ZRANGEBYSCORE', key('asleep'), '-inf', whole(NOW), 'LIMIT', 0, MOST_LAPSED)) do
    redis.call('ZREM', key('asleep'), entry)
    local kind, name = string.sub(entry, 1, 1), string.sub(entry, 2)
    if kind == 'c' then
      wake(name)
    else
      line_up(item_of(name))
    end
  end
end

-- `reply`, milliseconds until what sleeps is due ('' = nothing sleeps), then of each that was let out: member, digest.
local function with_released(reply)
  local due = redis.call('ZRANGE', key('asleep'), 0, 0, 'WITHSCORES')[2]
  reply[#reply + 1] = due and whole(math.max(0, tonumber(due) - NOW)) or ''
  for _, item in ipairs(released) do
    reply[#reply + 1] = item.member
    reply[#reply + 1] = item.digest
  end
  return reply
end
