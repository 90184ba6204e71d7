-- The fields of a directive that its acceptance writes: type, lane, when it was accepted, its deadline; milliseconds since the epoch. The lane
-- changes when the directive goes on to another one.
-- @include include-keys.lua

-- Adds to `fields`, names and values to be written. `lane`: '' = none.
local function add_given(fields, id, type, lane, accepted_at, deadline_at)
  for name, value in pairs({ type = type, lane = lane, accepted_at = accepted_at, deadline_at = deadline_at }) do
    fields[#fields + 1] = id .. '|' .. name
    fields[#fields + 1] = value
  end
end

-- The lane ('' = none), when the directive was accepted, its deadline. `state`: key of the request.
local function given_of(state, id)
  local lane, accepted_at, deadline_at = unpack(redis.call('HMGET', state, id .. '|lane', id .. '|accepted_at', id .. '|deadline_at'))
  return lane or '', tonumber(accepted_at or '') or 0, tonumber(deadline_at or '') or 0
end
