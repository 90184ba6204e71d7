-- The clock of Redis, and whole numbers as text.

-- Milliseconds since the epoch.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A number above 10^14 has an exponent otherwise.
local function int(value)
  return string.format('%.0f', value)
end

