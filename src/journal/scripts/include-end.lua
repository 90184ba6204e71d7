-- How a directive ended, in one field: `<id>|end` of the state is `<ended at> <sequence of its terminal signal>`, milliseconds since the
-- epoch. Each field of its own costs its name, which begins with the id. Earlier versions wrote `|ended_at` and `|terminal`; an earlier
-- process that finds neither beside a status that is an end knows that it ended, not where.
-- Must never be written together with the two.
-- @include include-keys.lua
-- Readers in other languages split it the same way.
local ENDED = '^(%d+) (%d+)$'

-- Adds to `changed`, fields and values to be written, the end. `sequence`: as text.
local function add_end(changed, id, now, sequence)
  changed[#changed + 1] = id .. '|end'
  changed[#changed + 1] = int(now) .. ' ' .. sequence
end

-- When the directive ended and the sequence of its terminal signal, as text; false or nil = it has not. `state`: key of the request.
local function end_of(state, id)
  local ended, ended_at, sequence = unpack(redis.call('HMGET', state, id .. '|end', id .. '|ended_at', id .. '|terminal'))
  if ended then
    return string.match(ended, ENDED)
  end
  return ended_at, sequence
end
