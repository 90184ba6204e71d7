-- Shared by the scripts of the limits: a bucket of requests or tokens that fills while time passes.
-- Must never touch a key outside KEYS: all of a provider's keys carry its hash tag, so a script runs in one slot.
--
-- A bucket is a field of KEYS[1]: '<level> <microseconds since the epoch when it had that level>'; a missing one is full.
-- It holds ten seconds' worth and fills at the rate of the limit. A bucket of a whole minute's worth would let two of
-- them pass within one minute after a pause, and providers look at shorter spans than the minute they speak of. In the
-- worst minute a limit is passed by a sixth. The level may be negative: what was taken above the estimate is a debt.
local BUCKETS = KEYS[1]
local MINUTE_US = 60000000
local BURSTS_A_MINUTE = 6

-- Microseconds since the epoch, by the server's clock.
local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- Never less than one request.
local function capacity(per_minute)
  return math.max(1, per_minute / BURSTS_A_MINUTE)
end

-- What is in the bucket now. A clock that went back fills nothing.
local function level_of(stored, per_minute, now)
  local level, at = string.match(stored or '', '^(%S+) (%S+)$')
  if not level then
    return capacity(per_minute)
  end
  local passed = math.max(0, now - tonumber(at))
  return math.min(capacity(per_minute), tonumber(level) + passed * per_minute / MINUTE_US)
end

local function ms_until_full(level, per_minute)
  return math.ceil((capacity(per_minute) - level) * 60000 / per_minute)
end

-- Writes a bucket, and keeps them all at least until it would be full anyway.
local function store(name, level, per_minute, now)
  redis.call('HSET', BUCKETS, name, string.format('%.17g %.0f', level, now))
  local keep_ms = ms_until_full(level, per_minute) + 60000
  if redis.call('PTTL', BUCKETS) < keep_ms then
    redis.call('PEXPIRE', BUCKETS, string.format('%.0f', keep_ms))
  end
end
