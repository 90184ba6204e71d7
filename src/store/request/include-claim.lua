-- The claim of a directive, shared by the scripts that grant one: the right to make one attempt, as a lease with a growing fencing number.
-- Must never grant while another lease holds, after the end, before the next attempt is due, or past the deadline; nor
-- take its own grant for that of another worker when a lost connection repeats the command.
-- @include include-claims.lua
-- @include include-sweep.lua

-- Whether it was to begin by an instant that has passed, and has not. `begin`: as include-accept.lua writes it.
local function is_too_late(begin, began_at, now)
  local by = not began_at and begin and tonumber(string.match(begin, ' (%d+)$'))
  -- @guard later-expires
  return by and by <= now
end

-- `wish`: digest that the worker holds, lease_ms, slack_ms: how early an attempt but the first may begin (clocks of queue and journal differ),
--   token of this claim, which tells a repeat, lane in which the worker took the job ('' = none),
--   index: sweep index, where all keys are in one slot (nil = the caller has written to it): should the worker die, the
--   sweeper reads the directive when the lease ends, not when it was due anyhow
--   owes_start: the worker reports the first attempt by start.lua, once it has the claim (nil = it does not)
-- `started_at`: where in ARGV the signal is that the first claim appends, JSON (nil = there is none)
-- Returns by name: kind: unknown | stale_body | moved | held | wait | ended | cancelled | expired | granted, and with it
--   moved: lane   held, wait: until   ended: run: version of the run that has something to read (-1 = none), task
--   cancelled, expired: task, too_late: 1 = it had to begin by now
--   granted: fence, failures, redeliveries, deadline_at, now, released, stage ('' = the first), due_at: when the attempt could have begun,
--     waits: why it waited as include-wait.lua writes it ('' = unknown), task: that the attempt asks for as task-keep.lua wrote it
--     ('' = none), asked: what its tool asks as include-questions.lua writes it ('' = nothing), owes_start: 1 = its start is to be reported
--   cancelled, expired, granted, where a worker is gone: lost: 1 = an attempt may have been under way, 2 = before the first one began; and
--     lost_fence, lost_token, lost_until: of its claim
local function add_lost(reply, lost, of)
  if lost > 0 then
    for name, value in pairs({ lost = lost, lost_fence = of.fence, lost_token = of.token, lost_until = of.until_at }) do
      reply[#reply + 1] = name
      reply[#reply + 1] = value
    end
  end
  return reply
end

local function granted(lost, of, fields)
  return add_lost({ 'kind', 'granted', unpack(fields) }, lost, of)
end

local function ends(kind, lost, of, task, is_too_late)
  return add_lost({ 'kind', kind, 'task', task or '', 'too_late', is_too_late }, lost, of)
end

local function claim_directive(id, wish, now, started_at)
  local status, digest, lane, accepted_at, deadline_at, waits, seq = unpack(redis.call('HMGET', STATE, id .. '|status', id .. '|digest',
    id .. '|lane', id .. '|accepted_at', id .. '|deadline_at', id .. '|waits', 'seq'))
  if not status then
    return { 'kind', 'unknown' }
  end
  -- A directive that was accepted and never claimed has none of these.
  local lease_until, next_attempt_at, failures, redeliveries, began_at, cancel, last_fence, last_claim, released, stage, lost_claim, task, asked, begin =
    unpack(status ~= 'accepted' and redis.call('HMGET', STATE, id .. '|lease_until', id .. '|next_attempt_at', id .. '|failures',
      id .. '|redeliveries', id .. '|started_at', id .. '|cancel', id .. '|fence', id .. '|claimant', id .. '|released', id .. '|stage',
      id .. '|lost', id .. '|task', id .. '|asked', id .. '|begin') or {})
  if is_terminal(status) then
    local run = redis.call('HMGET', STATE, RUN_INBOX, '@run|version')
    return { 'kind', 'ended', 'run', (run[1] and run[1] ~= '') and tonumber(run[2]) or -1, 'task', task or '' }
  elseif digest ~= wish.digest then
    return { 'kind', 'stale_body' }
  end
  accepted_at, deadline_at = tonumber(accepted_at), tonumber(deadline_at)
  if wish.lane ~= '' and lane ~= wish.lane then
    return { 'kind', 'moved', 'lane', lane }
  end

  local new_lease = int(now + tonumber(wish.lease_ms))
  -- @guard takeover
  if wish.index then
    look_by(wish.index, request_id() .. '/' .. id, new_lease)
  end
  lease_until, next_attempt_at = tonumber(lease_until or '0'), tonumber(next_attempt_at or '0')
  failures, redeliveries, released = tonumber(failures or '0'), tonumber(redeliveries or '0'), int(tonumber(released or '0'))
  local owes = began_at and 0 or 1
  local due_at = math.max(accepted_at, next_attempt_at)
  local claimant, was_lost = string.match(last_claim or '', '^(.*)/(%d)$')
  if status == 'running' and claimant == wish.token then
    local lost_fence, lost_token, lost_until = string.match((was_lost ~= '0') and lost_claim or '', '^(%d+) (%S*) (%d+)$')
    redis.call('HSET', STATE, id .. '|lease_until', new_lease)
    local lost_of = { fence = lost_fence, token = lost_token, until_at = lost_until }
    return granted(tonumber(was_lost), lost_of, { 'fence', last_fence, 'failures', failures, 'redeliveries', redeliveries, 'deadline_at',
      int(deadline_at), 'now', int(now), 'released', released, 'stage', stage or '', 'due_at', lost_until or int(due_at), 'waits', waits or '',
      'task', task or '', 'asked', asked or '', 'owes_start', owes })
  elseif status == 'running' and lease_until > now then
    return { 'kind', 'held', 'until', int(lease_until) }
  end
  -- Before a first call is made, its start is written: here, or by start.lua.
  -- @guard begun-claim
  local lost = (status == 'running') and (began_at and 1 or 2) or 0
  local lost_now = { fence = last_fence, token = claimant, until_at = int(lease_until) }
  if cancel then
    return ends('cancelled', lost, lost_now, task, 0)
  elseif deadline_at <= now or is_too_late(begin, began_at, now) then
    -- @guard unknown-outcome
    return ends('expired', lost, lost_now, task, deadline_at <= now and 0 or 1)
  elseif status == 'waiting' and next_attempt_at > now + (last_fence and tonumber(wish.slack_ms) or 0) then
    return { 'kind', 'wait', 'until', int(next_attempt_at) }
  end

  local fence = int(tonumber(last_fence or '0') + 1)
  local begins_now = not began_at and not wish.owes_start
  local claim = { id .. '|status', 'running' }
  add_claim(claim, id, fence, new_lease, wish.token .. '/' .. lost, begins_now and int(now))
  if lost > 0 then
    redeliveries = redeliveries + 1
    claim[#claim + 1] = id .. '|redeliveries'
    claim[#claim + 1] = int(redeliveries)
    claim[#claim + 1] = id .. '|lost'
    claim[#claim + 1] = last_fence .. ' ' .. claimant .. ' ' .. int(lease_until)
    claim_lost(claim, id, last_fence, lease_until)
  end
  if last_fence then
    claim[#claim + 1] = claim_field(id, fence)
    claim[#claim + 1] = int(now)
    if tonumber(fence) > CLAIMS_KEPT then
      redis.call('HDEL', STATE, claim_field(id, int(tonumber(fence) - CLAIMS_KEPT)))
    else
      grow(CLAIM_BYTES)
    end
  end
  if begins_now and started_at then
    claim[#claim + 1] = 'seq'
    claim[#claim + 1] = int((emit(tonumber(seq or '0'), started_at, started_at, false)))
  end
  redis.call('HSET', STATE, unpack(claim))
  return granted(lost, lost_now, { 'fence', fence, 'failures', failures, 'redeliveries', redeliveries, 'deadline_at', int(deadline_at), 'now',
    int(now), 'released', released, 'stage', stage or '', 'due_at', int(lost > 0 and lease_until or due_at), 'waits', waits or '', 'task',
    task or '', 'asked', asked or '', 'owes_start', wish.owes_start and owes or 0 })
end
