-- claim.lua with what it includes, before the first claim was one field; without comments.
-- Must never be changed: it says what an older process does.
local UNDER_KEY = '^once%.' .. string.rep('%x', 32) .. '%..'
local LAST_PART = 38
local function tag_of(request)
  local own = string.match(request, '~(.*)$') or request
  if not string.find(own, UNDER_KEY) then
    return '{' .. request .. '}'
  end
  local at = #request - #own + LAST_PART
  return '{' .. string.sub(request, 1, at - 1) .. '}' .. string.sub(request, at) .. '}'
end
local STATE, BODIES, LOG, BASE
local function bind_keys()
  STATE, BODIES, LOG, BASE = KEYS[1], KEYS[2], KEYS[3], KEYS[#KEYS]
end
bind_keys()
local function turn_to(tag)
  STATE, BODIES, LOG = tag .. ':state', tag .. ':bodies', tag .. ':log'
end
local function request_id()
  local id = string.match(STATE, '{(.-)}:')
  return string.find(id, '}', 1, true) and (string.gsub(id, '}', '')) or id
end
local call_at
local function now_ms()
  if not call_at then
    local time = redis.call('TIME')
    call_at = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return call_at
end
local texts = {}
local function int(value)
  local text = texts[value]
  if not text then
    text = string.format('%d', value)
    texts[value] = text
  end
  return text
end
local function is_terminal(status)
  return status == 'succeeded' or status == 'failed'
end
local MAX_PUBLISHED_BYTES = 65536
local function log_append(number, json, closes)
  local length = redis.pcall('RPUSH', LOG, json)
  if length ~= tonumber(number) then
    if type(length) == 'number' then
      redis.call('DEL', LOG)
    end
    redis.call('XADD', LOG, number .. '-0', 'e', json)
  end
  local announcement = number .. (closes and ' c ' or ' o ') .. ((#json <= MAX_PUBLISHED_BYTES) and json or '')
  redis.call('SPUBLISH', LOG, announcement)
  return announcement
end
local function log_after(sequence, count)
  local signals, first = {}, tonumber(sequence) + 1
  local texts = redis.pcall('LRANGE', LOG, string.format('%.0f', first - 1), string.format('%.0f', first + count - 2))
  if not texts.err then
    for index = 1, #texts do
      signals[index] = { first + index - 1, texts[index] }
    end
    return signals
  end
  for index, entry in ipairs(redis.call('XRANGE', LOG, '(' .. sequence .. '-0', '+', 'COUNT', count)) do
    signals[index] = { string.match(entry[1], '^%d+'), entry[2][2] }
  end
  return signals
end
local function log_at(sequence)
  local entry = log_after(tonumber(sequence) - 1, 1)[1]
  return entry and tonumber(entry[1]) == tonumber(sequence) and entry[2] or 'null'
end
local function log_expire(ms)
  redis.call('PEXPIRE', LOG, ms)
end
local function log_keep()
  redis.call('PERSIST', LOG)
end
local ENTRY_BYTES, RECORD_BYTES = 64, 512
local END_BYTES = 5120
local function bytes_of_directive(id)
  return 896 + 16 * #id
end
local function grow(bytes)
  redis.call('HINCRBY', STATE, 'bytes', string.format('%.0f', bytes))
end
local function has_room(more, bytes, open, limit)
  return tonumber(bytes or '0') + more + tonumber(open or '0') * END_BYTES <= tonumber(limit)
end
local function bytes_of_signals(first, last)
  local bytes = 0
  for index = first, last do
    bytes = bytes + #ARGV[index] + ENTRY_BYTES
  end
  return bytes
end
local PAYLOAD = '@payload|'
local RUN_INBOX = '@run|inbox'
local function emit(before, first, last, closed, counted)
  local sequence, announcement = before, nil
  if last >= first and not counted then
    grow(bytes_of_signals(first, last))
  end
  for index = first, last do
    sequence = sequence + 1
    local number = int(sequence)
    local json = string.sub(ARGV[index], 1, -2) .. ',"sequence":' .. number .. '}'
    announcement = log_append(number, json, closed and index == last)
  end
  return sequence, announcement
end
local KEY_KEPT_MS = 3600000
local function key_of_request()
  if string.find(STATE, '}.', 1, true) then
    return string.match(STATE, '^(.-{.-})%.(.-)}:state$')
  end
end
local function key_ended(retention_ms)
  local key, part = key_of_request()
  if key and redis.call('HGET', key .. ':once', 'part') == part then
    redis.call('PEXPIRE', key .. ':once', int(tonumber(retention_ms) + KEY_KEPT_MS))
  end
end
local function close_request(now, retention_ms, ...)
  redis.call('HSET', STATE, 'status', 'closed', 'closed_at', int(now), ...)
  redis.call('PEXPIRE', STATE, retention_ms)
  redis.call('PEXPIRE', BODIES, retention_ms)
  log_expire(retention_ms)
  key_ended(retention_ms)
end
local function end_directive(id, status, now, retention_ms, facts, first, last)
  local open = facts.open - 1
  local sequence, announcement = emit(facts.seq, first, last, open == 0, facts.bytes)
  local number = int(sequence)
  local ended = { id .. '|status', status, id .. '|ended_at', int(now), id .. '|terminal', number, 'seq', number, 'open', int(open) }
  if facts.bytes then
    facts.bytes = facts.bytes + bytes_of_signals(first, last)
    ended[#ended + 1] = 'bytes'
    ended[#ended + 1] = int(facts.bytes)
  end
  if facts.inbox then
    redis.call('PUBLISH', facts.inbox, request_id() .. '/' .. id .. ' ' .. announcement)
  end
  if facts.run then
    facts.run = facts.run .. number .. ','
    ended[#ended + 1] = RUN_INBOX
    ended[#ended + 1] = facts.run
  end
  if facts.engine and facts.engine ~= '' then
    local alone = facts.run == number .. ',' and ' 1 ' or ' 0 '
    local end_of_run = request_id() .. ' ' .. int(facts.version) .. ' ' .. int(now) .. alone .. announcement
    facts.told = redis.call('PUBLISH', facts.engine, end_of_run) > 0
  end
  if open == 0 then
    close_request(now, retention_ms, unpack(ended))
    return sequence, true
  end
  redis.call('HSET', STATE, unpack(ended))
  return sequence, false
end
local CLAIMS_KEPT, CLAIM_BYTES = 32, 112
local function claim_field(id, fence)
  return id .. '|claim' .. fence
end
local function claim_ended(changed, id, fence, stored, at, how, delay_ms, counted)
  local claimed, output = string.match(stored or '', '^(%S+) ?(%S*)')
  if output == nil or output == '' then
    output = '-'
  end
  changed[#changed + 1] = claim_field(id, fence)
  changed[#changed + 1] = (claimed or '-') .. ' ' .. output .. ' ' .. int(at) .. ' ' .. how .. ' ' .. int(delay_ms) .. ' '
    .. counted
end
local function claim_lost(changed, id, fence, lease_until)
  local stored = redis.call('HGET', STATE, claim_field(id, fence))
  claim_ended(changed, id, fence, stored, lease_until, 'lost', 0, 1)
end
local MOST_GIVEN_BYTES = 64
local GIVEN = '^[^ ]+ ([^ ]+) (%d+) (%d+)$'
local function add_given(fields, id, type, lane, accepted_at, deadline_at)
  local given = type .. ' ' .. (lane == '' and '-' or lane) .. ' ' .. accepted_at .. ' ' .. deadline_at
  if #given <= MOST_GIVEN_BYTES and string.find(given, GIVEN) then
    fields[#fields + 1] = id .. '|given'
    fields[#fields + 1] = given
    return
  end
  for name, value in pairs({ type = type, lane = lane, accepted_at = accepted_at, deadline_at = deadline_at }) do
    fields[#fields + 1] = id .. '|' .. name
    fields[#fields + 1] = value
  end
end
local function given_of(state, id, given, lane)
  local first, accepted_at, deadline_at = string.match(given or '', GIVEN)
  if first then
    return lane or (first ~= '-' and first or ''), tonumber(accepted_at), tonumber(deadline_at)
  end
  local times = redis.call('HMGET', state, id .. '|accepted_at', id .. '|deadline_at')
  return lane or '', tonumber(times[1] or '') or 0, tonumber(times[2] or '') or 0
end
local function look_by(index, member, at, only_there)
  local score = tonumber(redis.call('ZSCORE', index, member) or '')
  if not score and only_there then
    return
  end
  local taken = score and math.floor(score * 8) % 2 == 1
  if taken or not score or score > tonumber(at) then
    redis.call('ZADD', index, at, member)
  end
end
local function is_too_late(begin, began_at, now)
  local by = not began_at and begin and tonumber(string.match(begin, ' (%d+)$'))
  return by and by <= now
end
local function claim_directive(id, wish, now, started_at)
  local status, digest, given, moved, waits, seq = unpack(redis.call('HMGET', STATE, id .. '|status', id .. '|digest', id .. '|given',
    id .. '|lane', id .. '|waits', 'seq'))
  if not status then
    return { 'unknown' }
  end
  local lease_until, next_attempt_at, failures, redeliveries, began_at, cancel, last_fence, last_claim, released, stage, lost_claim, task, asked, begin =
    unpack(status ~= 'accepted' and redis.call('HMGET', STATE, id .. '|lease_until', id .. '|next_attempt_at', id .. '|failures',
      id .. '|redeliveries', id .. '|started_at', id .. '|cancel', id .. '|fence', id .. '|claimant', id .. '|released', id .. '|stage',
      id .. '|lost', id .. '|task', id .. '|asked', id .. '|begin') or {})
  if is_terminal(status) then
    local run = redis.call('HMGET', STATE, RUN_INBOX, '@run|version')
    return { 'ended', (run[1] and run[1] ~= '') and tonumber(run[2]) or -1, task or '' }
  elseif digest ~= wish.digest then
    return { 'stale_body' }
  end
  local lane, accepted_at, deadline_at = given_of(STATE, id, given, moved)
  if wish.lane ~= '' and lane ~= wish.lane then
    return { 'moved', lane }
  end
  local new_lease = int(now + tonumber(wish.lease_ms))
  if wish.index then
    look_by(wish.index, request_id() .. '/' .. id, new_lease, false)
  end
  lease_until, next_attempt_at = tonumber(lease_until or '0'), tonumber(next_attempt_at or '0')
  failures, redeliveries, released = tonumber(failures or '0'), tonumber(redeliveries or '0'), int(tonumber(released or '0'))
  local owes = began_at and 0 or 1
  local due_at = math.max(accepted_at, next_attempt_at)
  local claimant, was_lost = string.match(last_claim or '', '^(.*)/(%d)$')
  if status == 'running' and claimant == wish.token then
    local lost_fence, lost_token, lost_until = string.match((was_lost ~= '0') and lost_claim or '', '^(%d+) (%S*) (%d+)$')
    redis.call('HSET', STATE, id .. '|lease_until', new_lease)
    return { 'granted', last_fence, failures, redeliveries, tonumber(was_lost), int(deadline_at), int(now), released, stage or '',
      lost_until or int(due_at), lost_fence or 0, lost_token or '', lost_until or 0, waits or '', task or '', asked or '', owes }
  elseif status == 'running' and lease_until > now then
    return { 'held', int(lease_until) }
  end
  local lost = (status == 'running') and (began_at and 1 or 2) or 0
  if cancel then
    return { 'cancelled', lost, last_fence or 0, claimant or '', int(lease_until), task or '' }
  elseif deadline_at <= now or is_too_late(begin, began_at, now) then
    return { 'expired', lost, last_fence or 0, claimant or '', int(lease_until), task or '', deadline_at <= now and 0 or 1 }
  elseif status == 'waiting' and next_attempt_at > now + (last_fence and tonumber(wish.slack_ms) or 0) then
    return { 'wait', int(next_attempt_at) }
  end
  local fence = int(tonumber(last_fence or '0') + 1)
  local claim = { id .. '|status', 'running', id .. '|fence', fence, id .. '|lease_until', new_lease,
    id .. '|claimant', wish.token .. '/' .. lost }
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
  if not began_at and not wish.owes_start then
    claim[#claim + 1] = id .. '|started_at'
    claim[#claim + 1] = int(now)
    if started_at then
      claim[#claim + 1] = 'seq'
      claim[#claim + 1] = int((emit(tonumber(seq or '0'), started_at, started_at, false)))
    end
  end
  redis.call('HSET', STATE, unpack(claim))
  return { 'granted', fence, failures, redeliveries, lost, int(deadline_at), int(now), released, stage or '',
    int(lost > 0 and lease_until or due_at), last_fence or 0, claimant or '', int(lease_until), waits or '', task or '', asked or '',
    wish.owes_start and owes or 0 }
end
local wish = { digest = ARGV[2], lease_ms = ARGV[3], slack_ms = ARGV[4], token = ARGV[5], lane = ARGV[7], index = KEYS[4] }
return claim_directive(ARGV[1], wish, now_ms(), ARGV[6] ~= '' and 6 or nil)
