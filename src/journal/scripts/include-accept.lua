-- The acceptance of a batch of directives, shared by every script that accepts: a submission, and a turn of a run.
-- Must never change anything while a batch is judged: one conflict refuses all of it.
-- @include include-record.lua
--
-- ARGV from `first` on, eight per directive: id, type, digest, lane ('' = none), deadline_ms, envelope JSON,
--   end status ('' = stays open), terminal signal JSON ('' = stays open)
local ACCEPT_FIELDS = 8

-- Returns 'accepted' | 'existing' for each directive, and how many are new; or nil, the id in conflict, its stored digest.
local function judge_batch(first)
  local verdicts, seen, fresh = {}, {}, 0
  for at = first, #ARGV, ACCEPT_FIELDS do
    local id, digest = ARGV[at], ARGV[at + 2]
    local stored = seen[id] or redis.call('HGET', STATE, id .. '|digest')
    if stored and stored ~= digest then
      return nil, id, stored
    end
    verdicts[#verdicts + 1] = stored and 'existing' or 'accepted'
    fresh = fresh + (stored and 0 or 1)
    seen[id] = digest
  end
  return verdicts, fresh
end

-- The fields to read for `open_request`.
local OPENING_FIELDS = { 'created_at', 'status', 'open', 'count', 'seq', RUN_INBOX, 'bytes' }

-- What the directives that `judge_batch` found new will hold.
local function bytes_of_batch(first, verdicts)
  local bytes = 0
  for position = 1, #verdicts do
    if verdicts[position] == 'accepted' then
      local at = first + (position - 1) * ACCEPT_FIELDS
      bytes = bytes + RECORD_BYTES + #ARGV[at + 5] + #ARGV[at + 7]
    end
  end
  return bytes
end

-- Opens the request for `opened` more things that must end, `counted` of them directives. `request`: its OPENING_FIELDS.
-- Returns the facts that `end_directive` needs.
local function open_request(request, opened, counted, now, inbox)
  local facts = { open = tonumber(request[3] or '0') + opened, seq = tonumber(request[5] or '0'), inbox = inbox,
    run = request[6] }
  local fields = { 'status', 'open', 'open', int(facts.open), 'count', int(tonumber(request[4] or '0') + counted) }
  if not request[1] then
    fields[#fields + 1] = 'created_at'
    fields[#fields + 1] = int(now)
  elseif request[2] == 'closed' then
    redis.call('HDEL', STATE, 'closed_at')
    redis.call('PERSIST', STATE)
    redis.call('PERSIST', BODIES)
    log_keep()
  end
  redis.call('HSET', STATE, unpack(fields))
  return facts
end

-- Writes the directives that `judge_batch` found new, which `facts.open` counts already; immediate ones end here.
local function accept_batch(first, verdicts, now, retention_ms, facts)
  local bytes = 0
  for position = 1, #verdicts do
    local at = first + (position - 1) * ACCEPT_FIELDS
    local id = ARGV[at]
    if verdicts[position] == 'accepted' then
      bytes = bytes + RECORD_BYTES + #ARGV[at + 5]
      local record = { id .. '|status', 'accepted', id .. '|type', ARGV[at + 1], id .. '|digest', ARGV[at + 2],
        id .. '|lane', ARGV[at + 3], id .. '|accepted_at', int(now),
        id .. '|deadline_at', int(now + tonumber(ARGV[at + 4])) }
      if facts.inbox then
        record[#record + 1] = id .. '|inbox'
        record[#record + 1] = facts.inbox
      end
      redis.call('HSET', BODIES, id, ARGV[at + 5])
      redis.call('HSET', STATE, unpack(record))
      if ARGV[at + 6] ~= '' then
        facts.seq = end_directive(id, ARGV[at + 6], now, retention_ms, facts, at + 7, at + 7)
        facts.open = facts.open - 1
      end
    end
  end
  if bytes > 0 then
    grow(bytes)
  end
end
