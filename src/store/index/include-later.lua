-- What begins later: the index of it, and when that is. An instant is a word, `d<ms from now>` or `t<milliseconds since the epoch>`; one
-- that has passed is now.
-- Must never use another clock than that of Redis, nor count what the index has not: what begins later in each lane is counted with it.
--
-- The index is a sorted set of `<request>/<directive>|<lane>` by when it begins, in the slot of the sweep index: what waits there for a
-- year is not in the way of what is to be looked at now. Beside it, a hash: lane -> how many of it are there.

local function is_later(word)
  return string.find(word, '^[dt]') ~= nil
end

-- Milliseconds since the epoch.
local function begins_at(word, now)
  local kind, ms = string.match(word, '^([dt])(%d+)$')
  if not kind then
    return now
  end
  -- @guard later-begins
  return math.max(now, (kind == 'd') and now + tonumber(ms) or tonumber(ms))
end

local function later_keys(sweep)
  return '{' .. sweep .. '}:later', '{' .. sweep .. '}:later-lanes'
end

-- `member`: with its lane.
local function add_later(sweep, member, at)
  local index, lanes = later_keys(sweep)
  if redis.call('ZADD', index, 'LT', string.format('%.0f', at), member) == 1 then
    redis.call('HINCRBY', lanes, string.match(member, '|(.*)$'), 1)
  end
end

-- Returns whether it was there.
local function drop_later(sweep, member)
  local index, lanes = later_keys(sweep)
  if redis.call('ZREM', index, member) == 0 then
    return false
  end
  local lane = string.match(member, '|(.*)$')
  if redis.call('HINCRBY', lanes, lane, -1) <= 0 then
    redis.call('HDEL', lanes, lane)
  end
  return true
end
