-- The job of a run's turn: pushed to an engine with a free slot, or enqueued for the next one.
-- Must never be the only way to a turn: what fails of it the sweeper does later.
-- @include include-job-data.lua
-- @include include-offers.lua

-- One job for each version of the run; while it is there, a repeat changes nothing. BASE is that of the lane of runs.
local function enqueue_turn(version, agent, now)
  local id = '@run/' .. int(version)
  local job = job_id(request_id() .. '/' .. id)
  local data = '{"request_id":"' .. request_id() .. '","id":"' .. id .. '","digest":"","type":"run","agent":' .. cjson.encode(agent)
    .. ',"version":' .. int(version) .. '}'
  local offer = offered_slot(now)
  if offer and add_taken_job(job, data, '{}', offer, now) then
    offer.job = job
    return hand_over(offer, now, 0, data)
  elseif offer then
    offer_again(offer)
  elseif add_job(job, 'directive', data, '{}', int(now)) then
    return wake_worker()
  end
  note_again(job)
end

-- Runs `enqueue` after what is written, which its error must not undo: Redis logs the error, and the sweeper enqueues. Returns whether it ran.
local function after_acceptance(enqueue, ...)
  local ran, failed = pcall(enqueue, ...)
  if not ran then
    local reason = type(failed) == 'table' and failed.err or tostring(failed)
    redis.log(redis.LOG_WARNING, 'adjutant: a job of the request ' .. request_id() .. ' is enqueued by the sweeper, because of ' .. reason)
  end
  return ran
end

-- `enqueue_turn` from a script of another lane. `base`: of the lane of runs.
local function enqueue_turn_in(base, version, now)
  local own = BASE
  BASE = base
  local ran = after_acceptance(enqueue_turn, version, redis.call('HGET', STATE, '@run|agent'), now)
  BASE = own
  return ran
end
