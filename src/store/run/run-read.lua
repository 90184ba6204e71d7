-- Reads what a turn needs in one look: the run's facts, its document, and the signals in its inbox.
-- Must never write.
-- @include include-log-read.lua
-- @include include-record.lua
--
-- ARGV[1] the most signals to read   ARGV[2] the bytes of signals after which no further one is read
-- Returns { 'unknown' } | { 'run', version, status, now, created_at, ended_at ('' = not ended), traceparent, agent,
--   bytes of the inbox that the signals cover, 1 = there are more, spec JSON, document JSON ('' = before the first turn), when it begins as
--   run-start.lua writes it ('' = the caller named no instant), what it waits for as once-release.lua says ('' = nothing), signals, JSON... }

local run = redis.call('HMGET', STATE, '@run|version', '@run|status', '@run|created_at', '@run|ended_at', '@run|trace', '@run|agent',
  RUN_INBOX, '@run|begin', '@run|behind')
if not run[1] then
  return { 'unknown' }
end
local inbox = run[7] or ''
local signals, bytes, size = {}, 0, 0
for number in string.gmatch(inbox, '%d+') do
  if #signals == tonumber(ARGV[1]) or size > tonumber(ARGV[2]) then
    break
  end
  signals[#signals + 1] = log_at(number)
  size = size + #signals[#signals]
  bytes = bytes + #number + 1
end
local bodies = redis.call('HMGET', BODIES, '@spec', '@run')
local reply = { 'run', tonumber(run[1]), run[2], int(now_ms()), run[3], run[4] or '', run[5], run[6], bytes, bytes < #inbox and 1 or 0,
  bodies[1], bodies[2] or '', run[8] or '', run[9] or '' }
for index = 1, #signals do
  reply[#reply + 1] = signals[index]
end
return reply
