-- When the sweeper looks at an entry of its index, a sorted set by milliseconds since the epoch.
-- Must never put off a look that was agreed for earlier.

-- Has it look at `member` by `at`. What a sweeper has taken and not put off yet, an eighth in its score, it may have seen as it was
-- before: then `at` stands, and the sweeper's own instant does not (index-put-off.lua).
local function look_by(index, member, at)
  local score = tonumber(redis.call('ZSCORE', index, member) or '')
  local taken = score and math.floor(score * 8) % 2 == 1
  if taken or not score or score > tonumber(at) then
    redis.call('ZADD', index, at, member)
  end
end
