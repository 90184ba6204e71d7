-- Gives the right to make one attempt, as a lease with a growing fencing number.
-- Must never grant while another lease holds, after the end, before the next attempt is due, or past the deadline; nor
-- take its own grant for somebody else's when a lost connection repeats the command.
-- @include include-claims.lua
-- @include include-sweep.lua
--
-- KEYS[4] sweep index, where all keys are in one slot (absent = the caller has written to it): should the worker die, somebody
--   looks when the lease ends, not when the directive was to be looked at anyhow
-- ARGV[1] directive id   ARGV[2] digest the worker holds   ARGV[3] lease_ms
-- ARGV[4] slack_ms: how early an attempt may begin (clocks of queue and journal differ)
-- ARGV[5] token of this claim, which tells a repeat   ARGV[6] signal JSON to append at the first claim ('' = none)
-- ARGV[7] lane in which the worker took the job ('' = none)
-- Returns { verdict, ... }:
--   unknown | stale_body | moved, lane | held, until | wait, until
--   ended, version of the run that has something to read (-1 = none), the task that it has left as task-keep.lua wrote it ('' = none)
--   cancelled | expired, lost (0|1): 1 = an attempt was under way and its worker is gone, then LOST CLAIM, then its task as above
--   granted, fence, failures, redeliveries, lost (0|1), deadline_at, now, released, stage ('' = the first),
--     when the attempt could have begun, then LOST CLAIM, why it waited as include-wait.lua writes it ('' = nobody said so),
--     the task that the attempt asks for as task-keep.lua wrote it ('' = none),
--     what its tool asks as include-questions.lua writes it ('' = nothing)
--   LOST CLAIM: its fence, its token and the end of its lease
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|digest', id .. '|deadline_at', id .. '|lease_until',
  id .. '|next_attempt_at', id .. '|failures', id .. '|redeliveries', id .. '|started_at', id .. '|cancel', id .. '|fence', 'seq',
  id .. '|claimant', id .. '|lane', id .. '|released', id .. '|stage',
  RUN_INBOX, '@run|version', id .. '|accepted_at', id .. '|lost', id .. '|waits', id .. '|task', id .. '|asked')
local status, digest, deadline_at = record[1], record[2], tonumber(record[3] or '0')
local lease_until, next_attempt_at = tonumber(record[4] or '0'), tonumber(record[5] or '0')
local failures, redeliveries = tonumber(record[6] or '0'), tonumber(record[7] or '0')
local lane, released, stage = record[13] or '', int(tonumber(record[14] or '0')), record[15] or ''

if not status then
  return { 'unknown' }
elseif is_terminal(status) then
  return { 'ended', (record[16] and record[16] ~= '') and tonumber(record[17]) or -1, record[21] or '' }
elseif digest ~= ARGV[2] then
  return { 'stale_body' }
elseif ARGV[7] ~= '' and lane ~= ARGV[7] then
  return { 'moved', lane }
end

local now = now_ms()
local new_lease = int(now + tonumber(ARGV[3]))
if KEYS[4] then
  look_by(KEYS[4], request_id() .. '/' .. id, new_lease, false)
end
local due_at = math.max(tonumber(record[18] or '0'), next_attempt_at)
local claimant, was_lost = string.match(record[12] or '', '^(.*)/(%d)$')
if status == 'running' and claimant == ARGV[5] then
  local lost_fence, lost_token, lost_until = string.match((was_lost == '1') and record[19] or '', '^(%d+) (%S*) (%d+)$')
  redis.call('HSET', STATE, id .. '|lease_until', new_lease)
  return { 'granted', record[10], failures, redeliveries, tonumber(was_lost), int(deadline_at), int(now), released, stage,
    lost_until or int(due_at), lost_fence or 0, lost_token or '', lost_until or 0, record[20] or '', record[21] or '', record[22] or '' }
elseif status == 'running' and lease_until > now then
  return { 'held', int(lease_until) }
end
local lost = (status == 'running') and 1 or 0
if record[9] then
  return { 'cancelled', lost, record[10] or 0, claimant or '', int(lease_until), record[21] or '' }
elseif deadline_at <= now then
  return { 'expired', lost, record[10] or 0, claimant or '', int(lease_until), record[21] or '' }
elseif status == 'waiting' and next_attempt_at > now + tonumber(ARGV[4]) then
  return { 'wait', int(next_attempt_at) }
end

local fence = int(tonumber(record[10] or '0') + 1)
local claim = { id .. '|status', 'running', id .. '|fence', fence, id .. '|lease_until', new_lease,
  id .. '|claimant', ARGV[5] .. '/' .. lost }
if lost == 1 then
  redeliveries = redeliveries + 1
  claim[#claim + 1] = id .. '|redeliveries'
  claim[#claim + 1] = int(redeliveries)
  claim[#claim + 1] = id .. '|lost'
  claim[#claim + 1] = record[10] .. ' ' .. claimant .. ' ' .. int(lease_until)
  claim_lost(claim, id, record[10], lease_until)
end
if record[10] then
  claim[#claim + 1] = claim_field(id, fence)
  claim[#claim + 1] = int(now)
  if tonumber(fence) > CLAIMS_KEPT then
    redis.call('HDEL', STATE, claim_field(id, int(tonumber(fence) - CLAIMS_KEPT)))
  else
    grow(CLAIM_BYTES)
  end
end
if not record[8] then
  claim[#claim + 1] = id .. '|started_at'
  claim[#claim + 1] = int(now)
  if ARGV[6] ~= '' then
    claim[#claim + 1] = 'seq'
    claim[#claim + 1] = int((emit(tonumber(record[11] or '0'), 6, 6, false)))
  end
end
redis.call('HSET', STATE, unpack(claim))
return { 'granted', fence, failures, redeliveries, lost, int(deadline_at), int(now), released, stage,
  int(lost == 1 and lease_until or due_at), record[10] or 0, claimant or '', int(lease_until), record[20] or '', record[21] or '', record[22] or '' }
