-- Taking from a lane's BullMQ structures, as BullMQ 6.7 keeps them: its lists, job hashes, locks and marker, without the events.
-- Must never do what BullMQ's own scripts would not: where a lane is paused, limited or has delayed jobs that are due, and for jobs with
-- a parent, a deduplication, a schedule or a failure to come, they do it.
-- @include include-lane.lua

-- BullMQ packs a job's place into the low twelve bits of the score.
local DELAYED_SCALE = 4096

-- Fields of a job: its data, then those of jobs that BullMQ's scripts take.
local JOB_FIELDS = { 'data', 'parentKey', 'deid', 'rjk', 'defa' }

-- The first delayed job, milliseconds since the epoch; 0 = there is none. None of the scripts that share a call delays one.
local lane_delayed = {}
local function next_delayed()
  if not lane_delayed[BASE] then
    local first = redis.call('ZRANGE', BASE .. 'delayed', 0, 0, 'WITHSCORES')[2]
    lane_delayed[BASE] = first and math.floor(tonumber(first) / DELAYED_SCALE) or 0
  end
  return lane_delayed[BASE]
end

-- Takes the next job under the lock `token`. `now`: the worker's clock, as with BullMQ's delays.
-- Returns its id and data | nil, 'none' | nil, 'slow': nothing is changed, BullMQ's script decides.
local function take_job(token, lock_ms, now)
  local meta, due_at = lane_meta(), next_delayed()
  if meta[1] or meta[2] or meta[3] or (due_at > 0 and due_at <= tonumber(now)) then
    return nil, 'slow'
  end
  local id = redis.call('RPOPLPUSH', BASE .. 'wait', BASE .. 'active')
  if not id then
    return nil, redis.call('EXISTS', BASE .. 'prioritized') == 1 and 'slow' or 'none'
  end
  local job = BASE .. id
  local data, parent, deduplication, schedule, failure = unpack(redis.call('HMGET', job, unpack(JOB_FIELDS)))
  if not data or parent or deduplication or schedule or failure then
    redis.call('LMOVE', BASE .. 'active', BASE .. 'wait', 'LEFT', 'RIGHT')
    return nil, 'slow'
  end
  redis.call('SET', job .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', job, 'processedOn', now)
  return id, data
end
