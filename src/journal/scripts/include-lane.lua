-- Adding to a lane's BullMQ structures, as BullMQ 6.7 keeps them, without the events that nobody reads.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
--
-- KEYS[#KEYS] base of the lane's keys, `{<prefix>:<lane>}:<lane>:`; all of them are in one slot.
local BASE = KEYS[#KEYS]

-- As BullMQ: one idle worker wakes by it, looks, and wakes the next.
local function mark()
  redis.call('ZADD', BASE .. 'marker', 0, '0')
end

-- Adds a job behind those that wait. Returns whether it was added: while the job is there, that changes nothing.
local function add_job(id, name, data, options, timestamp)
  if redis.call('EXISTS', BASE .. id) == 1 then
    return false
  end
  redis.call('HSET', BASE .. id, 'name', name, 'data', data, 'opts', options, 'timestamp', timestamp, 'delay', 0, 'priority', 0)
  redis.call('LPUSH', BASE .. 'wait', id)
  return true
end

-- Jobs were added.
local function wake_worker()
  local meta = redis.call('HMGET', BASE .. 'meta', 'paused', 'concurrency')
  if not meta[1] and (not meta[2] or redis.call('LLEN', BASE .. 'active') < tonumber(meta[2])) then
    mark()
  end
end
