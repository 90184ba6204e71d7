-- A lane's BullMQ structures, as BullMQ 6.7 keeps them: its lists, job hashes, locks and marker. Without the events that nobody reads.
-- Must never do what BullMQ's own scripts would not: where a lane is paused, limited or has delayed jobs that are due, and for jobs of
-- other kinds than ours, they do it.
-- @include include-lane.lua

-- BullMQ packs a job's place into the low twelve bits of the score.
local DELAYED_SCALE = 4096
-- Of the newest active jobs: where a repeat looks for the one that it has taken before. Many repeats may share a call, which blocks Redis;
-- what is older is left to BullMQ's stalled check.
local NEWEST = 128

-- What the worker needs of a job: { 'job', id, name, data, options, timestamp, attempts made, left }.
-- `left`: -1 = more may wait, else nothing does, and it is when the next delayed job is due (0 = there is none).
local function job_reply(id, fields, left)
  return { 'job', id, fields[1] or '', fields[2] or '{}', fields[3] or '{}', fields[4] or '0', fields[5] or '0', left }
end

-- Fields of a job: what `job_reply` says, then those of jobs that are none of ours: a flow, a deduplication, a schedule, a failure to come.
local JOB_FIELDS = { 'name', 'data', 'opts', 'timestamp', 'atm', 'parentKey', 'deid', 'rjk', 'defa' }

-- The first delayed job, milliseconds since the epoch; 0 = there is none. None of the scripts that share a call delays one.
local lane_delayed = {}
local function next_delayed()
  if not lane_delayed[BASE] then
    local first = redis.call('ZRANGE', BASE .. 'delayed', 0, 0, 'WITHSCORES')[2]
    lane_delayed[BASE] = first and math.floor(tonumber(first) / DELAYED_SCALE) or 0
  end
  return lane_delayed[BASE]
end

-- Takes the next job under the lock `token`; `take`, which tells a repeat, stays with the job. `now`: the worker's clock, as with BullMQ's
-- delays. `more`: others wait behind it.
-- Returns a `job_reply` | { 'none', `next_delayed` } | { 'slow' }: nothing is changed, BullMQ's script decides.
local function take_job(token, lock_ms, now, take, more)
  local meta = lane_meta()
  local due_at = next_delayed()
  if meta[1] or meta[2] or meta[3] or (due_at > 0 and due_at <= tonumber(now)) then
    return { 'slow' }
  end
  local id = redis.call('RPOPLPUSH', BASE .. 'wait', BASE .. 'active')
  if not id then
    return redis.call('EXISTS', BASE .. 'prioritized') == 1 and { 'slow' } or { 'none', due_at }
  end
  local job = BASE .. id
  local fields = redis.call('HMGET', job, unpack(JOB_FIELDS))
  if not fields[2] or fields[6] or fields[7] or fields[8] or fields[9] then
    redis.call('LMOVE', BASE .. 'active', BASE .. 'wait', 'LEFT', 'RIGHT')
    return { 'slow' }
  end
  redis.call('SET', job .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', job, 'processedOn', now, 'take', take)
  if not more and redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') == 0 then
    return job_reply(id, fields, due_at)
  end
  mark()
  return job_reply(id, fields, -1)
end

-- The id of the job that `take` took, or else that `token` holds; nil = none of the newest.
local function held_job(take, token)
  local held
  for _, id in ipairs(redis.call('LRANGE', BASE .. 'active', 0, NEWEST - 1)) do
    if redis.call('HGET', BASE .. id, 'take') == take then
      return id
    elseif not held and redis.call('GET', BASE .. id .. ':lock') == token then
      held = id
    end
  end
  return held
end
