-- What goes with an acceptance where all keys are in one slot: entries of the sweep index, a note for the list of requests, jobs of a lane.
-- Must never enqueue what has ended or waits in another lane.
-- @include include-accept.lua
-- @include include-job-data.lua
-- @include include-later.lua
-- @include include-offers.lua
--
-- KEYS[4] sweep index   KEYS[5] changed requests   KEYS[6] base of the lane of all directives that stay open (all absent = the caller
-- announces, notes and enqueues; the last one absent = the caller enqueues)

-- The request that the script is about. ARGV[at]: milliseconds until its row is due ('' = it is not noted here).
local function note_changed(at, now)
  if ARGV[at] ~= '' then
    redis.call('ZADD', KEYS[5], 'LT', int(now + tonumber(ARGV[at])), request_id())
  end
end

-- What was accepted before is announced already, or has begun.
local function announce_later(word, id_in_lane, request, now)
  if redis.call('HEXISTS', STATE, string.match(id_in_lane, '^[^|]*') .. '|begin') == 0 then
    add_later(KEYS[4], request .. '/' .. id_in_lane, begins_at(word, now))
  end
end

-- ARGV from `first` on: as `note_changed` reads it; entries, at most 1,001, then of each: milliseconds from now until somebody looks, id; or
-- when it begins later, as include-later.lua says, and `<id>|<lane>`. What was agreed for earlier stays.
local function announce(first, now)
  local last = first + 1 + 2 * tonumber(ARGV[first + 1])
  local scored, request = {}, request_id()
  for at = first + 2, last, 2 do
    local after_ms = tonumber(ARGV[at])
    if after_ms then
      scored[#scored + 1] = int(now + after_ms)
      scored[#scored + 1] = request .. '/' .. ARGV[at + 1]
    else
      announce_later(ARGV[at], ARGV[at + 1], request, now)
    end
  end
  if #scored > 0 then
    redis.call('ZADD', KEYS[4], 'LT', unpack(scored))
  end
  note_changed(first, now)
end

-- Where the arguments after those of `announce` begin.
local function after_announcements(first)
  return first + 2 + 2 * tonumber(ARGV[first + 1])
end

-- Whether a directive that was there before still has to be taken from this lane.
local function waits_in(lane, id)
  local status, own = unpack(redis.call('HMGET', STATE, id .. '|status', id .. '|lane'))
  return not is_terminal(status) and own == lane
end

-- The id of a job, and its data as job.ts writes it. Identifiers and digests have no character that JSON escapes. `rest`: what the data
-- ends with.
local function own_job(id, digest, rest)
  local request = request_id()
  local data = '{"request_id":"' .. request .. '","id":"' .. id .. '","digest":"' .. digest .. '"' .. rest
  return job_id(request .. '/' .. id), data
end

-- Without options, as BullMQ's default: no attempts of its own.
local function add_own_job(id, digest, rest, now, replaces)
  local job, data = own_job(id, digest, rest)
  return add_job(job, 'directive', data, '{}', int(now), replaces)
end

-- When the sweeper looks at what was accepted, as entrance.ts announces it; at what is handed over when its lease ends, if that is sooner.
local FIRST_LOOK_MS = 5000

-- Where a new directive is handed over (ARGV[at] on), the slot that was offered; its job is written, and the caller writes its claim and
-- hands it over. nil = it is to be enqueued.
local function slot_for(at, inline_bytes, now)
  local id, lane, envelope = ARGV[at], ARGV[at + 3], ARGV[at + 5]
  -- @guard offer-large
  if lane == '' or begins_later(ARGV[at + 4]) or #envelope > tonumber(inline_bytes) then
    return
  end
  local offer = offered_slot(now)
  if not offer then
    return
  end
  offer.job, offer.data = own_job(id, ARGV[at + 2], IS_SMALL)
  if not add_taken_job(offer.job, offer.data, offer, now) then
    return offer_again(offer)
  end
  -- @guard offer-look
  if offer.lease_ms < FIRST_LOOK_MS then
    redis.call('ZADD', KEYS[4], 'LT', int(now + offer.lease_ms), request_id() .. '/' .. id)
  end
  return offer
end

-- For `facts.slot_for` of `accept_batch`: the lane's offers, where the directives of the batch are enqueued here.
local function offers_for(inline_bytes)
  return KEYS[6] and function(at, now)
    return slot_for(at, inline_bytes, now)
  end
end

-- Adds the jobs of a batch (ARGV from `first` on, as judged). Their bodies are in the journal alone. Who takes the job reads the body with
-- it, unless it has more than `inline_bytes`, or was there before and has its own trace. `handed`: offers by the position of what is handed
-- over instead.
local function enqueue_batch(first, verdicts, inline_bytes, now, handed)
  local added = false
  for position, verdict in ipairs(verdicts) do
    local at = first + (position - 1) * ACCEPT_FIELDS
    local id, lane, envelope = ARGV[at], ARGV[at + 3], ARGV[at + 5]
    local offer = handed and handed[position]
    if offer then
      hand_over(offer, now, offer.deadline_at, with_body(offer.data, envelope))
    elseif lane ~= '' and not begins_later(ARGV[at + 4]) and (verdict == 'accepted' or waits_in(lane, id)) then
      local inline = verdict == 'accepted' and #envelope <= tonumber(inline_bytes)
      added = add_own_job(id, ARGV[at + 2], inline and IS_SMALL or '}', now, verdict == 'accepted') or added
    end
  end
  if added then
    wake_worker()
  end
end

-- The same for the job of a run's turn: one for each version.
local function enqueue_turn(version, now)
  local job, data = own_job('@run/' .. int(version), '', '}')
  if add_job(job, 'directive', data, '{}', int(now)) then
    wake_worker()
  end
end
