-- Reports why a directive without a worker, or a run without an engine (`@run`), does not go on: as a signal, once for each reason, and in
-- its record.
-- Must never say it of a directive that has ended, or runs and was not lost with its worker, nor when it is no longer as it was seen.
-- @include include-wait.lua
--
-- A directive whose lease ended is reported as lost after LOST_MS: a worker takes most of them before.
-- ARGV[1] directive id   ARGV[2] `<status>/<fence>` as it was seen   ARGV[3] reason
-- ARGV[4] until, milliseconds since the epoch ('-' = unknown)   ARGV[5] the most bytes of a request
-- ARGV[6] signal JSON
-- Returns { 'said', sequence } | { 'known' }: said before, or too large | { 'stale' }.
local LOST_MS = 1000
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|waits', 'seq', 'bytes', 'open', id .. '|lease_until')
local status, fence, lease_until = record[1], record[2] or '0', record[7]
local waits = status == 'accepted' or status == 'waiting' or (id == '@run' and (status == 'pending' or status == 'running'))
if status == 'running' and id ~= '@run' and ARGV[3] == 'worker_lost' then
  waits = tonumber(lease_until or '0') + LOST_MS <= now_ms()
end
if not waits or ARGV[2] ~= status .. '/' .. fence then
  return { 'stale' }
end
local changed = {}
local request = { seq = tonumber(record[4] or '0'), bytes = record[5], open = record[6], limit = ARGV[5] }
local sequence = say_wait(changed, id, record[3], fence, ARGV[3], ARGV[4], request, 6)
redis.call('HSET', STATE, unpack(changed))
if sequence then
  return { 'said', sequence }
end
return { 'known' }
