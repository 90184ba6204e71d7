-- Adding to a lane's BullMQ structures, as BullMQ 6.7 keeps them, without the events that nobody reads.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
-- @include include-keys.lua

-- Who offers slots of the lane (include-offers.lua) is asked to say so again every 5 s; what is older may be of a process that hangs.
local OFFER_MS = 12000

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

-- As BullMQ: a tool that adds a line to a job's log makes a key beside it, and so does a flow. Few do, and keys that are not there
-- would be two thirds of the line in the append-only file.
local function delete_job(job)
  redis.call('DEL', job, job .. ':lock')
  if redis.call('EXISTS', job .. ':logs', job .. ':processed') > 0 then
    redis.call('DEL', job .. ':logs', job .. ':dependencies', job .. ':processed', job .. ':failed', job .. ':unsuccessful')
  end
end

local function drop_failed(ids)
  for _, id in ipairs(ids) do
    redis.call('ZREM', BASE .. 'failed', id)
    delete_job(BASE .. id)
  end
end

-- Writes the fields of a new job. Returns whether the id was free, or that of a failed job, whose place it takes. `expected`: the id is
-- expected to be free, so that only what was written tells.
local function write_job(id, expected, ...)
  local job = BASE .. id
  local was_free = expected or redis.call('EXISTS', job) == 0
  if was_free and redis.call('HSET', job, ...) == select('#', ...) / 2 then
    return true
  -- @guard failed-blocks
  elseif not redis.call('ZSCORE', BASE .. 'failed', id) then
    return false
  end
  drop_failed({ id })
  redis.call('HSET', job, ...)
  return true
end

-- Adds a job behind those that wait. Returns whether it was added: while the job is there, that changes nothing. `expected`: as `write_job`
-- has it; then it takes the place of a job that speaks of a directive before this one. `first`: before those that wait.
local function add_job(id, name, data, options, timestamp, expected, first)
  if not write_job(id, expected, 'name', name, 'data', data, 'opts', options, 'timestamp', timestamp, 'delay', 0, 'priority', 0) then
    return false
  end
  local length = redis.pcall(first and 'RPUSH' or 'LPUSH', BASE .. 'wait', id)
  if type(length) == 'table' then
    -- A job that is in no list would keep its directive from ever being enqueued.
    delete_job(BASE .. id)
    error(length.err, 0)
  end
  return true
end

-- Jobs were added.
local function wake_worker()
  local meta = lane_meta()
  if not meta[1] and (not meta[2] or redis.call('LLEN', BASE .. 'active') < tonumber(meta[2])) then
    mark()
  end
end

-- A wake of a run whose job is there already: a turn that is under way may have read too early, so its job is enqueued again at its end.
local function note_again(id)
  -- @guard wake-again
  if redis.call('HEXISTS', BASE .. id, 'processedOn') == 1 then
    redis.call('HSET', BASE .. id, 'again', 1)
  end
end
