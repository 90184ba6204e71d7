-- What is given with a directive and never changes, in one field: `<id>|given` of the state is `<type> <lane, or -> <accepted at> <deadline
-- at>`, milliseconds since the epoch. Each field of its own costs its name, which begins with the id. `<id>|lane` is there where it waits
-- in another lane now. Where the text would be long or could not be read, and as earlier versions wrote it, each of the four is a field.
-- Must never be longer than a value of a hash that Redis keeps compact, 64 bytes.
local MOST_GIVEN_BYTES = 64
-- Readers in other languages split it the same way.
local GIVEN = '^[^ ]+ ([^ ]+) (%d+) (%d+)$'

-- Adds to `fields`, names and values to be written, what is given.
local function add_given(fields, id, type, lane, accepted_at, deadline_at)
  local given = type .. ' ' .. (lane == '' and '-' or lane) .. ' ' .. accepted_at .. ' ' .. deadline_at
  if #given <= MOST_GIVEN_BYTES and string.find(given, GIVEN) then
    fields[#fields + 1] = id .. '|given'
    fields[#fields + 1] = given
    return
  end
  for name, value in pairs({ type = type, lane = lane, accepted_at = accepted_at, deadline_at = deadline_at }) do
    fields[#fields + 1] = id .. '|' .. name
    fields[#fields + 1] = value
  end
end

-- From the fields `given` and `lane`: the lane ('' = none), when the directive was accepted, its deadline. `state`: key of the request.
local function given_of(state, id, given, lane)
  local first, accepted_at, deadline_at = string.match(given or '', GIVEN)
  if first then
    return lane or (first ~= '-' and first or ''), tonumber(accepted_at), tonumber(deadline_at)
  end
  local times = redis.call('HMGET', state, id .. '|accepted_at', id .. '|deadline_at')
  return lane or '', tonumber(times[1] or '') or 0, tonumber(times[2] or '') or 0
end
