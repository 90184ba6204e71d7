-- Reads what a turn needs in one look: the run's facts, its document, and the signals in its inbox.
-- Must never write.
-- @include include-run-read.lua
--
-- ARGV[1] version whose document the reader holds ('' = none)   ARGV[2] the most signals to read
-- ARGV[3] the bytes of signals after which no further one is read
-- Returns { 'unknown' } | as `run_reply`, spec and document '' where the reader holds them, then the signals, JSON.

local run = redis.call('HMGET', STATE, unpack(RUN_FIELDS))
if not run[1] then
  return { 'unknown' }
end
local inbox = run[7] or ''
local signals, bytes, size = {}, 0, 0
for number in string.gmatch(inbox, '%d+') do
  if #signals == tonumber(ARGV[2]) or size > tonumber(ARGV[3]) then
    break
  end
  signals[#signals + 1] = log_at(number)
  size = size + #signals[#signals]
  bytes = bytes + #number + 1
end
local spec, document = '', ''
if run[1] ~= ARGV[1] then
  local bodies = redis.call('HMGET', BODIES, '@spec', '@run')
  spec, document = bodies[1], bodies[2] or ''
end
local reply = run_reply(run, now_ms(), bytes, bytes < #inbox and 1 or 0, spec, document)
for index = 1, #signals do
  reply[#reply + 1] = signals[index]
end
return reply
