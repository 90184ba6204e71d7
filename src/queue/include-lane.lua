-- Adding to a lane's BullMQ structures, as BullMQ 6.7 keeps them, without the events that nobody reads.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
-- @include include-keys.lua

-- By the base of a lane, what scripts that share a call read or write once: nobody else does anything meanwhile.
local lane_metas, lane_marked = {}, {}

-- Whether the lane is paused, how many jobs it may have under way, and how many it may begin.
local function lane_meta()
  local meta = lane_metas[BASE] or redis.call('HMGET', BASE .. 'meta', 'paused', 'concurrency', 'max')
  lane_metas[BASE] = meta
  return meta
end

-- As BullMQ: one idle worker wakes by it, looks, and wakes the next.
local function mark()
  if not lane_marked[BASE] then
    redis.call('ZADD', BASE .. 'marker', 0, '0')
    lane_marked[BASE] = true
  end
end

-- Adds a job behind those that wait. Returns whether it was added: while the job is there, that changes nothing. `replaces`: it takes the
-- place of a job that speaks of a directive before this one, which is rare, so that nobody looks first. `first`: before those that wait.
local function add_job(id, name, data, options, timestamp, replaces, first)
  local job = BASE .. id
  if not replaces and redis.call('EXISTS', job) == 1 then
    return false
  end
  local added = redis.call('HSET', job, 'name', name, 'data', data, 'opts', options, 'timestamp', timestamp, 'delay', 0, 'priority', 0)
  if added < 6 then
    return false
  end
  redis.call(first and 'RPUSH' or 'LPUSH', BASE .. 'wait', id)
  return true
end

-- Jobs were added.
local function wake_worker()
  local meta = lane_meta()
  if not meta[1] and (not meta[2] or redis.call('LLEN', BASE .. 'active') < tonumber(meta[2])) then
    mark()
  end
end
