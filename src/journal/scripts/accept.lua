-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest.
-- Where all keys are in one slot it also announces and enqueues them.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-accept.lua
-- @include include-lane.lua
--
-- KEYS[4] sweep index   KEYS[5] base of the lane of all directives that stay open (both absent = the caller announces and enqueues)
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3] the most bytes of a request
-- ARGV[4] bytes of the largest envelope that a job carries
-- ARGV[5] entries of the sweep index, at most 1,000, then of each: milliseconds from now until somebody looks, id
-- then the directives, as include-accept.lua says
-- Returns { 'conflict', id, stored digest } or { 'no_room', bytes that the request holds } or { 'ok', now_ms, version of the run that has an end to read (-1 = none),
--   then per directive 'accepted' | 'existing' }.
local FIRST = 6 + 2 * tonumber(ARGV[5])

local REQUEST = request_id()

-- What was agreed for earlier stays.
local function announce(now)
  local scored = {}
  for at = 6, FIRST - 1, 2 do
    scored[#scored + 1] = int(now + tonumber(ARGV[at]))
    scored[#scored + 1] = REQUEST .. '/' .. ARGV[at + 1]
  end
  if #scored > 0 then
    redis.call('ZADD', KEYS[4], 'LT', unpack(scored))
  end
end

-- Whether a directive that was there before still has to be taken from this lane.
local function waits_in(lane, id)
  local record = redis.call('HMGET', STATE, id .. '|status', id .. '|lane')
  return not is_terminal(record[1]) and record[2] == lane
end

-- As job.ts writes it. Identifiers and digests have no character that JSON escapes. What was there before has its body, with its
-- own trace, in the journal alone.
local function job_data(at, verdict)
  local data = '{"request_id":"' .. REQUEST .. '","id":"' .. ARGV[at] .. '","digest":"' .. ARGV[at + 2] .. '"'
  local envelope = ARGV[at + 5]
  if verdict == 'accepted' and #envelope <= tonumber(ARGV[4]) then
    data = data .. ',"envelope":' .. envelope
  end
  return data .. '}'
end

local function enqueue(verdicts, now)
  local added = false
  for position, verdict in ipairs(verdicts) do
    local at = FIRST + (position - 1) * ACCEPT_FIELDS
    local id, lane = ARGV[at], ARGV[at + 3]
    if lane ~= '' and (verdict == 'accepted' or waits_in(lane, id)) then
      local job = string.gsub(REQUEST .. '/' .. id, ':', '+')
      local options = '{"attempts":0,"jobId":"' .. job .. '"}'
      added = add_job(job, 'directive', job_data(at, verdict), options, int(now)) or added
    end
  end
  if added then
    wake_worker()
  end
end

local now = now_ms()
local verdicts, fresh, stored = judge_batch(FIRST)
if not verdicts then
  return { 'conflict', fresh, stored }
end
local run = -1
local request = fresh > 0 and redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
if request and not has_room(bytes_of_batch(FIRST, verdicts), request[7], tonumber(request[3] or '0') + fresh, ARGV[3]) then
  return { 'no_room', tonumber(request[7] or '0') }
end
if KEYS[4] then
  announce(now)
end
if request then
  local facts = open_request(request, fresh, fresh, now, ARGV[2] ~= '' and ARGV[2])
  accept_batch(FIRST, verdicts, now, ARGV[1], facts)
  if facts.run ~= request[6] then
    run = tonumber(redis.call('HGET', STATE, '@run|version'))
  end
end
if KEYS[5] then
  -- What fails of it the sweeper does later.
  pcall(enqueue, verdicts, now)
end
table.insert(verdicts, 1, run)
table.insert(verdicts, 1, int(now))
table.insert(verdicts, 1, 'ok')
return verdicts
