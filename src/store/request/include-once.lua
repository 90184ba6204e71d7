-- Submissions under a key: each one that begins is a request of its own, `<request of the key>.<part>`.
-- Must never leave the slot of the key: all of these requests are in it, and so is the hash that says which one counts now.
-- @include include-given.lua
-- @include include-later.lua
-- @include include-record.lua

-- The id of the run among the directives of a request.
local RUN = '@run'

local function tag_of_part(part)
  return key_of_request() .. '.' .. part .. '}'
end

-- Whether what began there has not ended. One that is gone has. A run has ended with the last of what it has asked for: its request is closed.
local function is_open(part, id)
  local status = part and redis.call('HGET', tag_of_part(part) .. ':state', (id == RUN) and 'status' or id .. '|status')
  if id == RUN then
    return status == 'open'
  end
  return status and not is_terminal(status)
end

-- Whether the end of a run was asked for, or another run replaces it.
local function is_to_end(state)
  local asked, replaced = unpack(redis.call('HMGET', state, '@run|post|cancel', '@run|replaced'))
  return asked or replaced
end

-- Adds to `record`, fields and values to be written, when a directive begins that no attempt was made of, or a run that no turn has read; and
-- writes them. `given`: type, lane, accepted_at of a directive, and deadline_ms.
local function change_begin(record, id, given, at, by)
  local begin = int(at) .. ' ' .. by
  local fields = { '@run|begin', begin, '@run|until', int(at + given.deadline_ms) }
  if id ~= RUN then
    add_given(record, id, given.type, given.lane, int(given.accepted_at), int(at + given.deadline_ms))
    -- @guard once-quiet
    fields = { id .. '|begin', begin, id .. '|next_attempt_at', int(at) }
  end
  for _, field in ipairs(fields) do
    record[#record + 1] = field
  end
  redis.call('HSET', STATE, unpack(record))
end
