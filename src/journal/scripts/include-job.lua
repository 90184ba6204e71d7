-- A lane's BullMQ structures, as BullMQ 6.7 keeps them: its lists, job hashes, locks and marker. Without the events that nobody reads.
-- Must never do what BullMQ's own scripts would not: where a lane is paused, limited or has delayed jobs that are due, and for jobs of
-- other kinds than ours, they do it.
-- @include include-lane.lua

-- BullMQ packs a job's place into the low twelve bits of the score.
local DELAYED_SCALE = 4096
-- Of the newest active jobs: where a repeat looks for the one that it has taken before.
local NEWEST = 256

-- What the worker needs of a job: { 'job', id, name, data, options, timestamp, attempts made, left }.
-- `left`: -1 = more may wait, else nothing does, and it is when the next delayed job is due (0 = there is none).
local function job_reply(id, fields, left)
  return { 'job', id, fields[1] or '', fields[2] or '{}', fields[3] or '{}', fields[4] or '0', fields[5] or '0', left }
end

-- Fields of a job: what `job_reply` says, then those of jobs that are none of ours: a flow, a deduplication, a schedule, a failure to come.
local JOB_FIELDS = { 'name', 'data', 'opts', 'timestamp', 'atm', 'parentKey', 'deid', 'rjk', 'defa' }

-- The first delayed job, milliseconds since the epoch; 0 = there is none.
local function next_delayed()
  local first = redis.call('ZRANGE', BASE .. 'delayed', 0, 0, 'WITHSCORES')[2]
  return first and math.floor(tonumber(first) / DELAYED_SCALE) or 0
end

-- Takes the next job under the lock `token`. `now`: the worker's clock, as with BullMQ's delays.
-- Returns a `job_reply` | { 'none', `next_delayed` } | { 'slow' }: nothing is changed, BullMQ's script decides.
local function take_job(token, lock_ms, now)
  local meta = redis.call('HMGET', BASE .. 'meta', 'paused', 'concurrency', 'max')
  local due_at = next_delayed()
  if meta[1] or meta[2] or meta[3] or (due_at > 0 and due_at <= tonumber(now)) then
    return { 'slow' }
  end
  local id = redis.call('LINDEX', BASE .. 'wait', -1)
  if not id then
    return redis.call('EXISTS', BASE .. 'prioritized') == 1 and { 'slow' } or { 'none', due_at }
  end
  local fields = redis.call('HMGET', BASE .. id, unpack(JOB_FIELDS))
  if not fields[2] or fields[6] or fields[7] or fields[8] or fields[9] then
    return { 'slow' }
  end
  redis.call('RPOPLPUSH', BASE .. 'wait', BASE .. 'active')
  redis.call('SET', BASE .. id .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', BASE .. id, 'processedOn', now)
  if redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') == 0 then
    return job_reply(id, fields, due_at)
  end
  mark()
  return job_reply(id, fields, -1)
end

-- The job that `token` holds, as `job_reply`; nil = none of the newest.
local function held_job(token)
  for _, id in ipairs(redis.call('LRANGE', BASE .. 'active', 0, NEWEST - 1)) do
    if redis.call('GET', BASE .. id .. ':lock') == token then
      return job_reply(id, redis.call('HMGET', BASE .. id, unpack(JOB_FIELDS)), -1)
    end
  end
end
