-- The failed jobs of a lane, as BullMQ 6.7 keeps them: what a dashboard shows of directives that ended in an error.
-- Must never keep more than a bounded number for a bounded time, nor remove many at once.
-- @include include-lane.lua

-- The newest failed jobs of a lane that are kept, and for how long. LANE_KEYS of lane-registry.ts are removed when none is left.
local MOST_FAILED, FAILED_MS = 1000, 86400000
-- Removed with one that is added: the set shrinks faster than it grows.
local MOST_REMOVED = 8

-- Removes failed jobs that are too old. Returns how many are left.
local function expire_failed(now, most)
  drop_failed(redis.call('ZRANGEBYSCORE', BASE .. 'failed', '-inf', int(now - FAILED_MS), 'LIMIT', 0, most))
  return redis.call('ZCARD', BASE .. 'failed')
end

-- Keeps a job that is in no other list or set any more as failed. `reason`: type and message of the error.
local function keep_failed(id, reason, now)
  local job = BASE .. id
  redis.call('DEL', job .. ':lock')
  redis.call('HSET', job, 'failedReason', reason, 'finishedOn', int(now))
  redis.call('HINCRBY', job, 'atm', 1)
  redis.call('ZADD', BASE .. 'failed', int(now), id)
  local excess = expire_failed(now, MOST_REMOVED) - MOST_FAILED
  -- @guard failed-bound
  if excess > 0 then
    drop_failed(redis.call('ZRANGE', BASE .. 'failed', 0, math.min(excess, MOST_REMOVED) - 1))
  end
end
