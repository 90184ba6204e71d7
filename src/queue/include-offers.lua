-- Free slots that an idle worker offers for a lane, and what is handed over to one: its job is active and locked at once, with its claim,
-- and the process hears of it on its channel. What it does not hear comes back as that of a worker that died.
-- Must never hand over to a process that does not listen, nor pass by a job that waits, nor where the lane is paused or limited.
-- @include include-lane.lua
--
-- BASE .. 'offers'   hash: `<process> <slot>` -> `<lease_ms> <lock_ms> <1 = the worker reports the first attempt itself, else 0> <offered at>`.
-- The channel of a process is `<prefix>:handed:<process>`. A message: `<slot> <lane> <job id> <now> <deadline at> <as above>`, and the job's data
-- in the next line.

-- A slot is taken from so many offers at most.
local MOST_TRIED = 8

-- Lanes of which this call knows that nobody offers a slot, or that it may not be used.
local without_offers = {}

-- Prefix of the installation's keys, and the lane.
local function place_of_lane()
  local place, lane = string.match(BASE, '^{(.*)}:(.*):$')
  return place and string.sub(place, 1, -#lane - 2), lane
end

-- Where that cannot be asked, nobody listens.
local function is_heard(channel)
  local heard = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return not heard.err and heard[2] > 0
end

-- Whether somebody may be handed a job of the lane.
local function may_hand_over(prefix, lane)
  local meta = lane_meta()
  -- @guard offer-paused
  if meta[1] or meta[2] or meta[3] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then
    return false
  end
  -- A lane that runs one call at a time.
  -- @guard offer-serial
  return string.sub(lane, 1, 5) ~= 'tool.' or redis.call('EXISTS', prefix .. ':{lane:' .. lane .. '}:serial') == 0
end

-- A slot of somebody who listens, taken from the offers; nil = there is none.
local function offered_slot(now)
  local prefix, lane
  for _ = 1, without_offers[BASE] and 0 or MOST_TRIED do
    local name, words = unpack(redis.call('HRANDFIELD', BASE .. 'offers', 1, 'WITHVALUES'))
    if not name then
      break
    end
    prefix, lane = place_of_lane()
    if not prefix or not may_hand_over(prefix, lane) then
      break
    end
    local process, slot = string.match(name, '^(%S+) (%S+)$')
    local lease_ms, lock_ms, owes_start, offered_at = string.match(words, '^(%d+) (%d+) ([01]) (%d+)$')
    local channel = process and prefix .. ':handed:' .. process
    -- @guard offer-deaf
    local stands = offered_at and now - tonumber(offered_at) <= OFFER_MS and is_heard(channel)
    redis.call('HDEL', BASE .. 'offers', name)
    if stands then
      return { name = name, words = words, channel = channel, lane = lane, slot = slot, token = process .. '.' .. slot,
        lease_ms = tonumber(lease_ms), lock_ms = lock_ms, owes_start = owes_start == '1' }
    end
  end
  without_offers[BASE] = true
end

-- It could not be used.
local function offer_again(offer)
  redis.call('HSET', BASE .. 'offers', offer.name, offer.words)
  redis.call('PEXPIRE', BASE .. 'offers', OFFER_MS)
end

-- Adds a job as taken for the slot. Returns whether it was added: a job of this id may be there.
local function add_taken_job(id, data, options, offer, now)
  if not write_job(id, true, 'name', 'directive', 'data', data, 'opts', options, 'timestamp', int(now), 'delay', 0, 'priority', 0,
    'processedOn', int(now)) then
    return false
  end
  redis.call('SET', BASE .. id .. ':lock', offer.token, 'PX', offer.lock_ms)
  redis.call('LPUSH', BASE .. 'active', id)
  return true
end

-- Last of all, once everything is written. `data`: of the job, with its body.
local function hand_over(offer, now, deadline_at, data)
  local head = { offer.slot, offer.lane, offer.job, int(now), deadline_at, offer.owes_start and '1' or '0' }
  redis.call('PUBLISH', offer.channel, table.concat(head, ' ') .. '\n' .. data)
end
