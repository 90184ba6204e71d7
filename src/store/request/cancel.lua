-- Cancels a directive: at once when no attempt is running; otherwise its worker is notified and stops it on a best-effort basis.
-- Must never end a directive whose attempt holds a live lease; its worker reports what really happened.
-- @include include-claims.lua
-- @include include-questions.lua
--
-- ARGV[1] directive id   ARGV[2] retention_ms   ARGV[3] terminal signal JSON (cancelled)
-- ARGV[4] the caller's reason ('' = none), kept for the worker; the first one is kept
-- ARGV[5] `<status>/<fence>`, and `/begun` once an attempt has begun, that the terminal signal speaks of ('' = whatever it is)
-- ARGV[6] '1' = only if no attempt is running: one that is stays untouched
-- Returns { 'ended', sequence, version of the run that goes on from it (-1 = none) } | { 'requested' }
--   | { 'already', status } | { 'running' } | { 'changed' }: it is no longer as the signal says | { 'unknown' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|lease_until', id .. '|inbox', 'open', 'seq',
  id .. '|cancel', RUN_INBOX, '@run|version', id .. '|fence', id .. '|asked', id .. '|started_at')
if not record[1] then
  return { 'unknown' }
elseif is_terminal(record[1]) then
  return { 'already', record[1] }
end
local fence, leased, began_at = record[9], record[2], record[11]
local now = now_ms()
if record[1] == 'running' and tonumber(leased or '0') > now then
  if ARGV[6] == '1' then
    return { 'running' }
  end
  if not record[6] then
    redis.call('HSET', STATE, id .. '|cancel', ARGV[4], id .. '|cancel_at', int(now))
  end
  return { 'requested' }
-- @guard cancel-begun
elseif ARGV[5] ~= '' and ARGV[5] ~= record[1] .. '/' .. (fence or '0') .. (began_at and '/begun' or '') then
  return { 'changed' }
end
if record[1] == 'running' then
  local ended = {}
  claim_lost(ended, id, fence, tonumber(leased or now))
  redis.call('HSET', STATE, unpack(ended))
end
if record[10] then
  forget_round(id, record[10])
end
local facts = { open = tonumber(record[4]), seq = tonumber(record[5] or '0'), inbox = record[3], run = record[7] }
local sequence = end_directive(id, 'failed', now, ARGV[2], facts, 3, 3)
return { 'ended', sequence, facts.run and tonumber(record[8]) or -1 }
