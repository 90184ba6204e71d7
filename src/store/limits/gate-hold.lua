-- A directive that was let out begins: its pass becomes a lease.
-- Must never grant a pass that has lapsed, nor let more begin than a rate allows.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member   ARGV[2] token of who asks   ARGV[3] lease_ms   ARGV[4] how many may be out
-- Returns { held | parked (it waits) | busy (another has it) | unknown, then as `with_released` }; asking again with the same token is the same.
local member, token, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
arrive()
local item = item_of(member)
if not item then
  return with_released({ 'unknown' })
end
local until_at = tonumber(redis.call('ZSCORE', key('out'), member) or '0')
if item.owner ~= '' and item.owner == token and until_at > 0 then
  -- Its own lease is over, and nobody has taken it.
  until_at = NOW + lease
end
-- @guard flow-lapsed-pass
if until_at <= NOW then
  if until_at > 0 then
    back_in_line(item)
  end
  release(tonumber(ARGV[4]))
  return with_released({ 'parked' })
end
-- @guard flow-busy
if item.owner ~= '' and item.owner ~= token then
  return with_released({ 'busy' })
end

local function too_early()
  for _, name in ipairs(item.limits) do
    local _, max, per = limit_of(name)
    local at = max and next_start(name, max, per) or 0
    if at > NOW then
      return at
    end
  end
end

local function begin()
  item.owner = token
  write_item(item)
  redis.call('ZREM', key('passes'), member)
  if ahead and ahead ~= member then
    redis.call('HDEL', key('clock'), 'ahead')
  end
  for _, name in ipairs(item.limits) do
    redis.call('SREM', key('given:' .. name), member)
    local _, max, per = limit_of(name)
    if max then
      local starts = key('starts:' .. name)
      redis.call('LPUSH', starts, whole(NOW))
      redis.call('LTRIM', starts, 0, max - 1)
      redis.call('PEXPIRE', starts, whole(per + 2 * LATE_MS))
      wake(name)
    end
  end
end

if item.owner == '' then
  -- @guard flow-start-rate
  if too_early() then
    back_in_line(item)
    release(tonumber(ARGV[4]))
    return with_released({ 'parked' })
  end
  begin()
end
redis.call('ZADD', key('out'), whole(NOW + lease), member)
redis.call('HSET', key('clock'), 'lease', whole(lease))
release(tonumber(ARGV[4]))
return with_released({ 'held' })
