-- What a turn reads of its run, shared by the script that reads one and those that take the job of a first turn.
-- Must never write.
-- @include include-record.lua
local RUN_FIELDS = { '@run|version', '@run|status', '@run|created_at', '@run|ended_at', '@run|trace', '@run|agent', RUN_INBOX,
  '@run|begin', '@run|behind' }

-- A longer one is not worth reading before its engine asks for it: of 60 KB each, sixteen in one reply take longer than one by one.
local MOST_SPEC_BYTES = 32768

-- `run`: the values of RUN_FIELDS. Returns { 'run', version, status, now, created_at, ended_at ('' = not ended), traceparent, agent,
--   bytes of the inbox that the signals cover, 1 = there are more, spec JSON, document JSON, when it begins as run-start.lua writes it
--   ('' = nobody said so), what it waits for as once-release.lua says ('' = nothing) }.
local function run_reply(run, now, bytes, more, spec, document)
  return { 'run', tonumber(run[1]), run[2], int(now), run[3], run[4] or '', run[5], run[6], bytes, more, spec, document, run[8] or '',
    run[9] or '' }
end

-- The same of a run that has not begun and has nothing to read: of nearly all that are woken by a job. nil = of any other.
local function first_reading(now)
  local run = redis.call('HMGET', STATE, unpack(RUN_FIELDS))
  if run[1] ~= '0' or run[7] ~= '' or redis.call('HSTRLEN', BODIES, '@spec') > MOST_SPEC_BYTES then
    return nil
  end
  return run_reply(run, now, 0, 0, redis.call('HGET', BODIES, '@spec'), '')
end
