-- What goes with an acceptance where all keys are in one slot: entries of the sweep index, a note for the list of requests, jobs of a lane.
-- Must never enqueue what has ended or waits in another lane.
-- @include include-accept.lua
-- @include include-job-data.lua
-- @include include-later.lua
-- @include include-turn.lua
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

-- The deadline of a directive that was there before and still has to be taken from this lane; nil = it has not.
local function waits_in(lane, id)
  local status, own, deadline_at = unpack(redis.call('HMGET', STATE, id .. '|status', id .. '|lane', id .. '|deadline_at'))
  return not is_terminal(status) and own == lane and deadline_at or nil
end

-- `json`: the data as job.ts writes it.
local function with_deadline(json, deadline_at)
  return string.sub(json, 1, -2) .. ',"deadline_at":' .. int(deadline_at) .. '}'
end

-- The job of a directive (ARGV[at] on): id, data, options.
local function job_at(at, deadline_at)
  return job_id(request_id() .. '/' .. ARGV[at]), with_deadline(ARGV[at + 9], deadline_at), ARGV[at + 10]
end

-- When the sweeper looks at what was accepted, as entrance.ts announces it; at what is handed over when its lease ends, if that is sooner.
local FIRST_LOOK_MS = 5000

-- Where a new directive is handed over (ARGV[at] on), the slot that was offered; its job is written, and the caller writes its claim and
-- hands it over. nil = it is to be enqueued.
local function slot_for(at, now)
  local id, lane, envelope = ARGV[at], ARGV[at + 3], ARGV[at + 5]
  -- @guard offer-large
  if lane == '' or begins_later(ARGV[at + 4]) or #envelope > MOST_INLINE_BYTES then
    return
  end
  local offer = offered_slot(now)
  if not offer then
    return
  end
  local options
  offer.job, offer.data, options = job_at(at, now + tonumber(ARGV[at + 4]))
  if not add_taken_job(offer.job, offer.data, options, offer, now) then
    return offer_again(offer)
  end
  -- @guard offer-look
  if offer.lease_ms < FIRST_LOOK_MS then
    redis.call('ZADD', KEYS[4], 'LT', int(now + offer.lease_ms), request_id() .. '/' .. id)
  end
  return offer
end

-- For `facts.slot_for` of `accept_batch`: the lane's offers, where the directives of the batch are enqueued here.
local function offers_for()
  return KEYS[6] and slot_for
end

-- Adds the jobs of a batch (ARGV from `first` on, as judged). `handed`: offers by the position of what is handed over instead.
local function enqueue_batch(first, verdicts, now, handed)
  local added = false
  for position, verdict in ipairs(verdicts) do
    local at = first + (position - 1) * ACCEPT_FIELDS
    local id, lane, envelope = ARGV[at], ARGV[at + 3], ARGV[at + 5]
    local offer = handed and handed[position]
    if offer then
      hand_over(offer, now, offer.deadline_at, with_body(offer.data, envelope))
    elseif lane ~= '' and not begins_later(ARGV[at + 4]) then
      local deadline_at = verdict == 'accepted' and now + deadline_ms_of(ARGV[at + 4]) or waits_in(lane, id)
      if deadline_at then
        local job, data, options = job_at(at, deadline_at)
        added = add_job(job, 'directive', data, options, int(now), verdict == 'accepted') or added
      end
    end
  end
  if added then
    wake_worker()
  end
end
