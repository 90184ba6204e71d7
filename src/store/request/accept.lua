-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest. A directive that is
-- submitted under a key is accepted, or another one represents it. Where all keys are in one slot it also announces and enqueues them.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-under-key.lua
--
-- KEYS[4..6] as include-entrance.lua says
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3] the most bytes of a request   ARGV[4] the key, JSON as include-under-key.lua reads it ('' = none; else there is one directive)
-- ARGV[5..] as `announce` reads them, then the directives, as include-accept.lua says
-- Returns { 'conflict', id, stored digest } or { 'no_room', bytes that the request holds } or { 'ok', now_ms, version of the run that has an end to read (-1 = none),
--   then per directive 'accepted' | 'existing' }; under a key what `submit_under_key` returns.
local ANNOUNCED = 5
local FIRST, now = after_announcements(ANNOUNCED), now_ms()

-- Returns a refusal; or nil, the verdicts, and the version of the run that has an end to read. `behind`: what its one directive waits for, as
-- once-release.lua says (nil = nothing).
local function accept(behind)
  local verdicts, fresh, known = judge_batch(FIRST)
  if not verdicts then
    return { 'conflict', fresh, known }
  end
  local run, handed = -1, nil
  local request = fresh > 0 and known
  if request and not has_room(bytes_of_batch(FIRST, verdicts), request[7], tonumber(request[3] or '0') + fresh, ARGV[3]) then
    return { 'no_room', tonumber(request[7] or '0') }
  end
  if KEYS[4] then
    announce(ANNOUNCED, now)
  end
  if request then
    local facts = open_request(request, fresh, fresh, now, ARGV[2] ~= '' and ARGV[2])
    facts.slot_for = ARGV[4] == '' and offers_for()
    accept_batch(FIRST, verdicts, now, ARGV[1], facts)
    if facts.run ~= request[6] then
      run = tonumber(redis.call('HGET', STATE, '@run|version'))
    end
    handed = facts.handed
  end
  if behind then
    redis.call('HSET', STATE, ARGV[FIRST] .. '|behind', behind)
  elseif KEYS[6] then
    after_acceptance(enqueue_batch, FIRST, verdicts, now, handed)
  end
  return nil, verdicts, run
end

if ARGV[4] ~= '' then
  local deadline_ms, word, start_by = string.match(ARGV[FIRST + 4], '^(%d+) (%S+) (%S+)$')
  local own = { id = ARGV[FIRST], type = ARGV[FIRST + 1], digest = ARGV[FIRST + 2], lane = ARGV[FIRST + 3], body = ARGV[FIRST + 5],
    ends = ARGV[FIRST + 6] ~= '', most_bytes = ARGV[3], retention_ms = tonumber(ARGV[1]), announced = ANNOUNCED,
    at = begins_at(word or '-', now), start_by = start_by or '-', lasts_ms = tonumber(deadline_ms or ARGV[FIRST + 4]) }
  function own.fields(id)
    -- @guard once-digest
    local fields = { id .. '|digest', own.digest }
    if ARGV[FIRST + 8] ~= '' then
      add_fields(fields, id .. '|noticed', ARGV[FIRST + 8])
    end
    return fields
  end
  function own.write(behind, held_until)
    if behind then
      ARGV[FIRST + 4] = int(own.lasts_ms) .. ' t' .. int(held_until) .. ' -'
    end
    return (accept(behind))
  end
  return submit_under_key(ARGV[4], own, now)
end
local refused, verdicts, run = accept()
if refused then
  return refused
end
table.insert(verdicts, 1, run)
table.insert(verdicts, 1, int(now))
table.insert(verdicts, 1, 'ok')
return verdicts
