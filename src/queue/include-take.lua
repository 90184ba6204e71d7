-- Taking jobs of a lane, with the claims of their directives where all keys are on one Redis, and the end of a job.
-- Must never claim what the worker would not: a body that has to be read first, or in a lane that runs one call at a time; nor
-- take other jobs when a lost connection repeats the command; nor do what BullMQ's own scripts would not: where a lane is paused, limited or
-- has delayed jobs that are due, and for jobs with a parent, a deduplication, a schedule or a failure to come, they do it.
-- @include include-claim.lua
-- @include include-job-data.lua
-- @include include-failed.lua

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

-- What dead processes leave goes with the next ones that are handed something, or after OFFER_MS without a new offer.
local MOST_OFFERS = 1024
-- `text`: '' = nothing is offered; else what stands for each slot, and in each further line `<process> <slot>`. Returns whether they are
-- offered.
local function make_offers(text, now)
  local words, names = string.match(text, '^([^\n]+)\n(.+)$')
  if not words then
    return false
  end
  local offers = {}
  for name in string.gmatch(names, '[^\n]+') do
    offers[#offers + 1] = name
    offers[#offers + 1] = words .. ' ' .. int(now)
  end
  -- @guard offer-bound
  if redis.call('HLEN', BASE .. 'offers') + #offers / 2 > MOST_OFFERS then
    return false
  end
  redis.call('HSET', BASE .. 'offers', unpack(offers))
  redis.call('PEXPIRE', BASE .. 'offers', OFFER_MS)
  return true
end

-- `ask`, which lane-take.ts writes: token of the jobs' locks and claims, lock_ms, now by the worker's clock, lease_ms ('' = nothing is
-- claimed), slack_ms, prefix of the keys of requests, lane, serial: key that exists while the lane runs one call at a time ('' = none),
-- owes_start: 1 = the worker reports the first attempt, sweep: index to write to, offers: slots that are offered where nothing waits, as
-- include-offers.lua reads them.
local ASK = { 'token', 'lock_ms', 'now', 'lease_ms', 'slack_ms', 'prefix', 'lane', 'serial', 'owes_start', 'sweep', 'offers' }

-- The ask that begins at ARGV[at]; #ASK arguments.
local function ask_at(at)
  local ask = {}
  for index, name in ipairs(ASK) do
    ask[name] = ARGV[at + index - 1]
  end
  return ask
end

-- As job.ts writes it: identifiers and digests have no character that JSON escapes.
local OF_DIRECTIVE = '^{"request_id":"([^"\\]+)","id":"([^"\\]+)","digest":"([^"\\]+)","([a-z_]+)":'

-- Whether a lane runs one call at a time, by the key that says so.
local serial_lanes = {}
local function is_serial(key)
  if serial_lanes[key] == nil then
    -- @guard serial-claim
    serial_lanes[key] = redis.call('EXISTS', key) == 1
  end
  return serial_lanes[key]
end

-- The data of a job with its body, and the claim of its directive; nothing = the worker asks for it.
local function claim_of(ask, token, data, now)
  local request, id, digest, next_member = string.match(data, OF_DIRECTIVE)
  if ask.lease_ms == '' or not request or next_member == 'gated' or (ask.serial ~= '' and is_serial(ask.serial)) then
    return
  end
  turn_to(ask.prefix .. ':' .. tag_of(request))
  local body = redis.call('HSTRLEN', BODIES, id) <= MOST_INLINE_BYTES and redis.call('HGET', BODIES, id)
  if not body then
    return
  end
  local wish = { digest = digest, lease_ms = ask.lease_ms, slack_ms = ask.slack_ms, token = token, lane = ask.lane, index = ask.sweep,
    owes_start = ask.owes_start == '1' }
  return with_body(data, body), claim_directive(id, wish, now)
end

-- A taken job by name: id, lock, data, and claim as `claim_directive` answers, where it came with one.
local function taken_job(ask, token, id, data, now)
  -- What is wrong with it concerns its own attempt, not the lane.
  local ran, whole, claim = pcall(claim_of, ask, token, data, now)
  if ran and claim and not claim.err then
    return { 'id', id, 'lock', token, 'data', whole, 'claim', claim }
  end
  return { 'id', id, 'lock', token, 'data', data }
end

-- The token of the nth job of a take.
local function token_of(ask, nth)
  -- @guard several-lock
  return nth == 1 and ask.token or ask.token .. '.' .. nth
end

local function is_more()
  return redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0
end

-- Takes up to `most` jobs. Returns by name: kind, jobs | none | slow (BullMQ's script decides); jobs; due_at: when the next delayed job of
-- an empty lane is due, 0 = there is none; offered_at: the slots are offered since.
local function take_jobs(ask, most, now)
  local jobs, why = {}, nil
  for nth = 1, most do
    local token = token_of(ask, nth)
    -- What is wrong with a later one does not lose those before it.
    local ran, id, data = pcall(take_job, token, ask.lock_ms, ask.now)
    if not ran and nth == 1 then
      error(id)
    elseif not ran or not id then
      why = ran and data
      break
    end
    jobs[nth] = taken_job(ask, token, id, data, now)
  end
  if #jobs > 0 then
    if is_more() then
      mark()
    end
    return { 'kind', 'jobs', 'jobs', jobs }
  elseif why == 'slow' then
    return { 'kind', 'slow' }
  end
  return { 'kind', 'none', 'due_at', next_delayed(), 'offered_at', make_offers(ask.offers, now) and int(now) or '' }
end

-- A job that was taken before under the lock `token`, and is again; nil = another worker has it, or may take it.
local function taken_again(ask, token, id, now)
  local lock = BASE .. id .. ':lock'
  local holder = redis.call('GET', lock)
  if holder ~= token and (holder or not redis.call('LPOS', BASE .. 'active', id)) then
    return nil
  end
  redis.call('SET', lock, token, 'PX', ask.lock_ms)
  redis.call('SREM', BASE .. 'stalled', id)
  return taken_job(ask, token, id, redis.call('HGET', BASE .. id, 'data') or '{}', now)
end

-- Of the newest active jobs: where a repeat finds the one that it has taken before. Many repeats may share a call, which blocks Redis;
-- an older job is left to BullMQ's stalled check.
local NEWEST = 128

-- The job that an end took when it ran first.
local function taken_before(ask, now)
  for _, id in ipairs(redis.call('LRANGE', BASE .. 'active', 0, NEWEST - 1)) do
    -- @guard end-repeat
    if redis.call('GET', BASE .. id .. ':lock') == ask.token then
      return { 'kind', 'jobs', 'jobs', { taken_again(ask, ask.token, id, now) } }
    end
  end
  return { 'kind', 'done' }
end

-- Removes a job that was handled under `lock`, or keeps it as failed for `reason` ('' = it did not fail). `ask`: takes the next one (nil =
-- none is taken). Returns { 'kind', 'done' } | { 'kind', 'lost' }: nothing is changed, another worker has the job | as `take_jobs`.
local function end_job(id, lock, reason, ask, now)
  local job = BASE .. id
  if redis.call('GET', job .. ':lock') == lock then
    redis.call('LREM', BASE .. 'active', -1, id)
    redis.call('SREM', BASE .. 'stalled', id)
    if reason == '' then
      delete_job(job)
    else
      keep_failed(id, reason, now)
    end
  elseif redis.call('EXISTS', job) == 1 and not redis.call('ZSCORE', BASE .. 'failed', id) then
    return { 'kind', 'lost' }
  elseif ask then
    return taken_before(ask, now)
  end
  return ask and take_jobs(ask, 1, now) or { 'kind', 'done' }
end
