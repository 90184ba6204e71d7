-- Appends signals of running attempts (progress, deltas), each under its claim's fence; of several requests where all keys are on one
-- Redis.
-- Must never append for an attempt that was taken over or has ended, nor twice when a lost connection repeats the command, nor leave
-- one attempt out because another one cannot be written.
-- @include include-claims.lua
--
-- KEYS state and log of each attempt's request
-- ARGV of each attempt: directive id   fence   id of the last signal, which tells a repeat   the most bytes of a request
--      number of signals   signals, JSON
-- Returns for each its last sequence | 'stale' | 'no_room' | '-' and the error of Redis.
local function append(id, fence, last_id, most_bytes, first, last)
  local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'seq', id .. '|appended', 'bytes', 'open',
    claim_field(id, fence))
  if record[1] ~= 'running' or record[2] ~= fence then
    return 'stale'
  end
  if record[4] == last_id then
    return tonumber(record[3])
  end
  local bytes = bytes_of_signals(first, last)
  if not has_room(bytes, record[5], record[6], most_bytes) then
    return 'no_room'
  end
  local sequence = emit(tonumber(record[3] or '0'), first, last, false, true)
  local held = int(tonumber(record[5] or '0') + bytes)
  if record[7] and string.find(record[7], ' ', 1, true) then
    redis.call('HSET', STATE, 'seq', int(sequence), 'bytes', held, id .. '|appended', last_id)
  else
    redis.call('HSET', STATE, 'seq', int(sequence), 'bytes', held, id .. '|appended', last_id,
      claim_field(id, fence), (record[7] or '-') .. ' ' .. int(now_ms()))
  end
  return sequence
end

local verdicts, at = {}, 1
for key = 1, #KEYS, 2 do
  STATE, LOG = KEYS[key], KEYS[key + 1]
  local first, last = at + 5, at + 4 + tonumber(ARGV[at + 4])
  local ran, verdict = pcall(append, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], first, last)
  if not ran then
    verdict = '-' .. (type(verdict) == 'table' and verdict.err or tostring(verdict))
    -- A replica writes nothing of it: the client looks for the master and sends the whole call again.
    if string.sub(verdict, 1, 9) == '-READONLY' then
      return redis.error_reply(string.sub(verdict, 2))
    end
  end
  verdicts[#verdicts + 1] = verdict
  at = last + 1
end
return verdicts
