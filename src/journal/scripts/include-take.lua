-- Taking a lane's next job, with the claim of its directive where all keys are on one Redis, and the end of a job.
-- Must never claim what the worker would not: a body that has to be read first, or in a lane that runs one call at a time; nor
-- take a second job when a lost connection repeats the command.
-- @include include-claim.lua
-- @include include-job-data.lua
-- @include include-job.lua
-- @include include-offers.lua

-- ARGV from `at` on: token of the job's lock, lock_ms, now by the worker's clock, token of the take and of its claim, lease_ms ('' =
--   nothing is claimed), slack_ms, what the names of all keys of requests begin with, lane, key that is there while the lane runs one
--   call at a time ('' = none), 1 = the worker reports the first attempt, sweep index, slots to be offered where there is
--   nothing to take, as include-offers.lua reads them, name of the place where a take that ends nothing is remembered; its next take comes
--   after the answer
local TAKE_FIELDS = 13

-- So many times its lock is it remembered what was taken: a job whose lock ran out stays active until BullMQ's next check but one.
local REMEMBERED_LOCKS = 4

-- As job.ts writes it: identifiers and digests have no character that JSON escapes.
local OF_DIRECTIVE = '^{"request_id":"([^"\\]+)","id":"([^"\\]+)","digest":"([^"\\]+)","([a-z_]+)":'

-- Whether a lane runs one call at a time, by the key that says so.
local serial_lanes = {}
local function is_serial(key)
  if serial_lanes[key] == nil then
    serial_lanes[key] = redis.call('EXISTS', key) == 1
  end
  return serial_lanes[key]
end

-- The data of a job with its body, and the claim `token` of its directive; nothing = the worker asks for it.
local function claim_of(at, data, now, token)
  local request, id, digest, next_member = string.match(data, OF_DIRECTIVE)
  local lease_ms, lane, serial = ARGV[at + 4], ARGV[at + 7], ARGV[at + 8]
  if lease_ms == '' or not request or (serial ~= '' and is_serial(serial)) then
    return
  end
  turn_to(ARGV[at + 6] .. ':' .. tag_of(request))
  if next_member == 'gated' or redis.call('HSTRLEN', BODIES, id) > MOST_INLINE_BYTES then
    return
  end
  local body = redis.call('HGET', BODIES, id)
  if not body then
    return
  end
  local wish = { digest = digest, lease_ms = lease_ms, slack_ms = ARGV[at + 5], token = token, lane = lane, index = ARGV[at + 10],
    owes_start = ARGV[at + 9] == '1' }
  return with_body(data, body), claim_directive(id, wish, now)
end

-- A job that was taken, as `job_reply`, then the answer of `claim_directive`. `token` of the claim; nil = that of the take.
local function with_claim(at, taken, now, token)
  if taken[1] == 'job' then
    -- What is wrong with it concerns its own attempt, not the lane.
    local ran, data, verdict = pcall(claim_of, at, taken[4], now, token or ARGV[at + 3])
    if ran and verdict and not verdict.err then
      taken[4] = data
      for _, value in ipairs(verdict) do
        taken[#taken + 1] = value
      end
    end
  end
  return taken
end

local function place_of(at)
  return BASE .. 'taken:' .. ARGV[at + 12]
end

-- What was taken; where there was nothing, slots are offered, and their instant is added.
local function or_offer(at, taken, now)
  if taken[1] == 'none' and make_offers(at + 11, now) then
    taken[3] = int(now)
  end
  return taken
end

local function remember_ms(at)
  return int(tonumber(ARGV[at + 1]) * REMEMBERED_LOCKS)
end

-- A job that this take has taken before, under its lock `token` again, as `job_reply`; nil = somebody else has it, or may take it.
local function taken_again(at, id, token)
  local lock = BASE .. id .. ':lock'
  local holder = redis.call('GET', lock)
  if holder ~= token and (holder or not redis.call('LPOS', BASE .. 'active', id)) then
    return nil
  end
  redis.call('SET', lock, token, 'PX', ARGV[at + 1])
  redis.call('SREM', BASE .. 'stalled', id)
  return job_reply(id, redis.call('HMGET', BASE .. id, unpack(JOB_FIELDS)), -1)
end

-- The job that an end took when it ran first, by its take or, where BullMQ's worker asks as if anew, by its lock. { 'done' } = none.
local function taken_before(at, now)
  local id = held_job(ARGV[at + 3], ARGV[at])
  local again = id and taken_again(at, id, ARGV[at])
  return again and with_claim(at, again, now) or { 'done' }
end

-- Removes a job that was handled, or keeps it as failed for `reason` ('' = it did not fail), and takes the next one under the same lock
-- where `takes`.
-- Returns { 'done' } | { 'lost' }: nothing is changed, BullMQ's script says why | as `take_job`, a job `with_claim`, of nothing `or_offer`.
local function end_job(at, id, reason, takes, now)
  local token, job = ARGV[at], BASE .. id
  if redis.call('GET', job .. ':lock') == token then
    redis.call('LREM', BASE .. 'active', -1, id)
    redis.call('SREM', BASE .. 'stalled', id)
    if reason == '' then
      delete_job(job)
    else
      keep_failed(id, reason, now)
    end
  elseif redis.call('EXISTS', job) == 1 and not redis.call('ZSCORE', BASE .. 'failed', id) then
    return { 'lost' }
  else
    return takes and taken_before(at, now) or { 'done' }
  end
  if not takes then
    return { 'done' }
  end
  return or_offer(at, with_claim(at, take_job(token, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]), now), now)
end
