-- The acceptance of a batch of directives, shared by every script that accepts: a submission, and a turn of a run.
-- Must never change anything while a batch is judged: one conflict refuses all of it.
-- @include include-record.lua
-- @include include-given.lua
-- @include include-later.lua
--
-- ARGV from `first` on, eleven per directive: id, type, digest, lane ('' = none), deadline_ms, envelope JSON,
--   end status ('' = stays open), terminal signal JSON ('' of what stays open), 1 = its end may have a notice, or '', data of its job as
--   job.ts writes it, JSON without deadline_at, and the job's options, JSON ('' = this script enqueues no job of it)
--   Instead of deadline_ms, of what has an instant to begin at: `<deadline_ms> <when, as include-later.lua says, or -> <start_by_ms, or ->`;
--   its deadline counts from there. The field `<id>|begin` of the state is then `<begins at> <to be begun by, or ->`.
local ACCEPT_FIELDS = 11

-- The fields to read for `open_request`.
local OPENING_FIELDS = { 'created_at', 'status', 'open', 'count', 'seq', RUN_INBOX, 'bytes' }

-- Returns 'accepted' | 'existing' for each directive, how many are new, and the OPENING_FIELDS of the request; or nil, the id in
-- conflict, its stored digest. With `more`, names of fields, the values that are read with the OPENING_FIELDS come fourth, those of
-- `more` behind theirs.
local function judge_batch(first, more)
  local fields = { unpack(OPENING_FIELDS) }
  for index = 1, more and #more or 0 do
    fields[#fields + 1] = more[index]
  end
  local known = #fields
  for at = first, #ARGV, ACCEPT_FIELDS do
    fields[#fields + 1] = ARGV[at] .. '|digest'
  end
  local request = redis.call('HMGET', STATE, unpack(fields))
  local verdicts, seen, fresh = {}, {}, 0
  for at = first, #ARGV, ACCEPT_FIELDS do
    local id, digest = ARGV[at], ARGV[at + 2]
    -- @guard idempotent-accept
    local stored = seen[id] or request[known + #verdicts + 1]
    if stored and stored ~= digest then
      return nil, id, stored, request
    end
    verdicts[#verdicts + 1] = stored and 'existing' or 'accepted'
    fresh = fresh + (stored and 0 or 1)
    seen[id] = digest
  end
  return verdicts, fresh, request, request
end

-- Approximate bytes of a directive in the state, and in the bodies beside its envelope, as `MEMORY USAGE` reports them after one attempt:
-- its id begins the name of each field.
local function bytes_of_directive(id)
  return 1100 + 13 * #id
end

-- Bytes of the directives that `judge_batch` found new.
local function bytes_of_batch(first, verdicts)
  local bytes = 0
  for position = 1, #verdicts do
    if verdicts[position] == 'accepted' then
      local at = first + (position - 1) * ACCEPT_FIELDS
      bytes = bytes + bytes_of_directive(ARGV[at]) + #ARGV[at + 5] + #ARGV[at + 7]
    end
  end
  return bytes
end

-- Opens the request for `opened` more things that must end, `counted` of them directives. `request`: its OPENING_FIELDS.
-- Returns the facts that `end_directive` needs, and in `fields` what the caller writes to the state with what else it has.
local function open_request(request, opened, counted, now, inbox)
  local facts = { open = tonumber(request[3] or '0') + opened, seq = tonumber(request[5] or '0'), inbox = inbox,
    run = request[6], bytes = tonumber(request[7] or '0') }
  local fields = { 'status', 'open', 'open', int(facts.open), 'count', int(tonumber(request[4] or '0') + counted) }
  if not request[1] then
    fields[#fields + 1] = 'created_at'
    fields[#fields + 1] = int(now)
  elseif request[2] == 'closed' then
    redis.call('HDEL', STATE, 'closed_at')
    redis.call('PERSIST', STATE)
    redis.call('PERSIST', BODIES)
    redis.call('PERSIST', LOG)
  end
  facts.fields = fields
  return facts
end

local function add_fields(record, ...)
  for index = 1, select('#', ...) do
    record[#record + 1] = (select(index, ...))
  end
end

-- Whether it is given a job when it begins.
local function begins_later(deadline)
  return string.find(deadline, ' [dt]') ~= nil
end

-- From the argument of a directive: `deadline_ms`, alone or first of three.
local function deadline_ms_of(deadline)
  return tonumber(string.match(deadline, '^%d+'))
end

-- Adds what is known of when it begins. Returns that instant, and its deadline_ms.
local function add_begin(record, id, deadline, now)
  local deadline_ms, word, start_by = string.match(deadline, '^(%d+) (%S+) (%S+)$')
  local at = begins_at(word, now)
  local by = (start_by ~= '-') and int(at + tonumber(start_by)) or '-'
  add_fields(record, id .. '|begin', int(at) .. ' ' .. by, id .. '|next_attempt_at', int(at))
  return at, tonumber(deadline_ms)
end

-- The first claim of a directive, for a free slot of another process, which is notified once all is written.
local function hand_over_claim(record, id, slot, now, deadline_ms, facts, position)
  add_fields(record, id .. '|status', 'running')
  -- @guard offer-unbegun
  add_claim(record, id, '1', int(now + slot.lease_ms), slot.token .. '/0', not slot.owes_start and int(now))
  slot.deadline_at = int(now + deadline_ms)
  facts.handed = facts.handed or {}
  facts.handed[position] = slot
end

-- Writes the directives that `judge_batch` found new, which `facts.open` counts already; immediate ones end here. `facts.fields`
-- go with the first of them, and `facts.bodies` with its envelope. `facts.slot_for`: gives the slot to which what begins at once is handed
-- over (nil = it is not); its claim is written with it, and it is in `facts.handed` at its position.
local function accept_batch(first, verdicts, now, retention_ms, facts)
  for position = 1, #verdicts do
    local at = first + (position - 1) * ACCEPT_FIELDS
    local id = ARGV[at]
    if verdicts[position] == 'accepted' then
      local record = facts.fields or {}
      facts.fields = nil
      local deadline_ms, begin = tonumber(ARGV[at + 4]), nil
      add_fields(record, id .. '|digest', ARGV[at + 2])
      -- @guard offer-begin
      local slot = facts.slot_for and deadline_ms and ARGV[at + 6] == '' and facts.slot_for(at, now)
      if slot then
        hand_over_claim(record, id, slot, now, deadline_ms, facts, position)
      else
        add_fields(record, id .. '|status', deadline_ms and 'accepted' or 'waiting')
      end
      if not deadline_ms then
        begin, deadline_ms = add_begin(record, id, ARGV[at + 4], now)
      end
      add_given(record, id, ARGV[at + 1], ARGV[at + 3], int(now), int((begin or now) + deadline_ms))
      if facts.inbox then
        add_fields(record, id .. '|inbox', facts.inbox)
      end
      if ARGV[at + 8] ~= '' then
        add_fields(record, id .. '|noticed', ARGV[at + 8])
      end
      facts.bytes = facts.bytes + bytes_of_directive(id) + #ARGV[at + 5]
      local bodies = facts.bodies or {}
      facts.bodies = nil
      add_fields(bodies, id, ARGV[at + 5])
      add_fields(record, 'bytes', int(facts.bytes))
      redis.call('HSET', BODIES, unpack(bodies))
      redis.call('HSET', STATE, unpack(record))
      if ARGV[at + 6] ~= '' then
        facts.seq = end_directive(id, ARGV[at + 6], now, retention_ms, facts, at + 7, at + 7)
        facts.open = facts.open - 1
      end
    end
  end
end
