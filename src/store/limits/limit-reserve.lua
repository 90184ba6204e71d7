-- Takes one call out of every bucket of a model, or out of none when one of them has too little or a block holds.
-- Must never refuse for ever: what is larger than a bucket passes when the bucket is full, and leaves a debt.
-- A repeat after a lost connection takes a second time: it is counted too often, never too little.
-- @include include-limits.lua
--
-- KEYS[1] hash of buckets   KEYS[2] block of the provider   KEYS[3] block of the model: each there as long as it holds
-- ARGV in fours, a bucket each: name, scope (provider | model), limit per minute, amount to take
-- Returns { 'ok' } | { 'refused', retry_after_ms, scope of what refuses longest }.
-- Milliseconds. The same level, computed over one span or over several, differs in its last digits: such a difference refuses
-- no call and adds no millisecond to a wait.
local ROUNDING_MS = 1e-5

local now = now_us()
local longest_ms, scope = 0, nil

local function refuse(wait_ms, by)
  if wait_ms > longest_ms then
    longest_ms, scope = wait_ms, by
  end
end

refuse(redis.call('PTTL', KEYS[2]), 'provider')
refuse(redis.call('PTTL', KEYS[3]), 'model')

local left = {}
for index = 1, #ARGV, 4 do
  local name, by = ARGV[index], ARGV[index + 1]
  local per_minute, amount = tonumber(ARGV[index + 2]), tonumber(ARGV[index + 3])
  local level = level_of(redis.call('HGET', BUCKETS, name) or nil, per_minute, now)
  local short = math.min(amount, capacity(per_minute)) - level
  refuse(math.ceil(short * 60000 / per_minute - ROUNDING_MS), by)
  left[#left + 1] = { name, level - amount, per_minute }
end

if scope then
  return { 'refused', longest_ms, scope }
end
for _, bucket in ipairs(left) do
  store(bucket[1], bucket[2], bucket[3], now)
end
return { 'ok' }
