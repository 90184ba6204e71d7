-- finish.lua with what it includes, before the first claim was one field; without comments.
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
local QUESTION, ANSWER = '@question|', '@answer|'
local function asked_round(text)
  local how, round, first, count, open, until_at, fence, afresh =
    string.match(text or '', '^([hr]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01])$')
  if not how then
    return nil
  end
  return { how = how, round = tonumber(round), first = tonumber(first), count = tonumber(count), open = tonumber(open),
    until_at = tonumber(until_at), fence = fence, afresh = afresh }
end
local function answer_field(id, number)
  return ANSWER .. id .. '|' .. int(number)
end
local function forget_round(id, text)
  local round = asked_round(text)
  if not round then
    return
  end
  local fields = { QUESTION .. id }
  for number = round.first, round.first + round.count - 1 do
    fields[#fields + 1] = answer_field(id, number)
  end
  redis.call('HDEL', BODIES, unpack(fields))
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
local TOLD_MS = 5000
local function end_claim(id, fence, how, record, now)
  if how == '1' then
    redis.call('HINCRBY', STATE, id .. '|released', 1)
    local unused = {}
    claim_ended(unused, id, fence, redis.call('HGET', STATE, claim_field(id, fence)), now, 'unused', 0, 0)
    redis.call('HSET', STATE, unpack(unused))
  elseif fence == '' and record[1] == 'running' then
    local lease_until = tonumber(redis.call('HGET', STATE, id .. '|lease_until') or '0')
    if lease_until <= now then
      local ended = {}
      claim_lost(ended, id, record[2], lease_until)
      redis.call('HSET', STATE, unpack(ended))
    end
  end
end
local function may_have_begun(id, status, now)
  local started_at, lease_until = unpack(redis.call('HMGET', STATE, id .. '|started_at', id .. '|lease_until'))
  return started_at or (status == 'running' and tonumber(lease_until or '0') > now)
end
local function finish_directive(id, ending, now, first, last)
  local fence, index = ending.fence, ending.index
  local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|inbox', 'open', 'seq', RUN_INBOX, 'bytes',
    id .. '|asked', id .. '|task')
  local version, engine = unpack(record[6] and redis.call('HMGET', STATE, '@run|version', '@run|engine') or {})
  local run = tonumber(version or '-1')
  if not record[1] then
    return { 'unknown' }
  elseif is_terminal(record[1]) then
    return { 'already', record[1], tonumber(redis.call('HGET', STATE, id .. '|terminal')), run }
  elseif fence ~= '' and fence ~= record[2] then
    return { 'stale' }
  elseif ending.how == '3' and may_have_begun(id, record[1], now) then
    return { 'stale' }
  end
  local bytes = bytes_of_signals(first, last)
  if bytes > END_BYTES and not has_room(bytes, record[7], tonumber(record[4]) - 1, ending.request_bytes) then
    return { 'no_room', tonumber(record[7]) }
  end
  local facts = { open = tonumber(record[4]), seq = tonumber(record[5] or '0'), inbox = record[3], run = record[6],
    engine = index and engine, version = run, bytes = tonumber(record[7] or '0') }
  end_claim(id, fence, ending.how, record, now)
  if record[8] then
    forget_round(id, record[8])
  end
  if record[9] and fence ~= '' and ending.how == '0' then
    redis.call('HDEL', STATE, id .. '|task')
  end
  local sequence, closed = end_directive(id, ending.status, now, ending.retention_ms, facts, first, last)
  if facts.told then
    look_by(index, request_id() .. '/@run', int(now + TOLD_MS), true)
  end
  return { 'ended', sequence, closed and 1 or 0, run, int(now), (record[6] == '') and 1 or 0, facts.told and 1 or 0 }
end
local ending = { fence = ARGV[2], status = ARGV[3], retention_ms = ARGV[4], how = ARGV[5], request_bytes = ARGV[6], index = KEYS[4] }
return finish_directive(ARGV[1], ending, now_ms(), 7, #ARGV)
