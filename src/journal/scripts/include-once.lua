-- What is submitted under a key: each time that something begins there, it is a request of its own, `<request of the key>.<part>`.
-- Must never leave the slot of the key: all of these requests are in it, and so is the hash that says which one counts now.
-- @include include-given.lua
-- @include include-later.lua
-- @include include-record.lua
--
-- GUARD   hash: part, id = the directive that counts now; until, latest = instants; n = tokens so far, `t:<token>` -> what became of a
--         submission, `r:<n modulo TOKENS_KEPT>` -> token
local OF_KEY, OWN_PART = key_of_request()
local GUARD = OF_KEY .. ':once'

-- Of what began or changed something; the oldest goes.
local TOKENS_KEPT = 64

local function tag_of_part(part)
  return OF_KEY .. '.' .. part .. '}'
end

-- Whether a directive has not ended. One that is gone has.
local function is_open(part, id)
  local status = part and redis.call('HGET', tag_of_part(part) .. ':state', id .. '|status')
  return status and not is_terminal(status)
end

-- Writes anew when a directive begins, which no attempt was made of. `record`: fields and values to be written.
local function change_begin(record, id, given, at, by)
  redis.call('HDEL', STATE, id .. '|given', id .. '|type', id .. '|lane', id .. '|accepted_at', id .. '|deadline_at')
  add_given(record, id, given.type, given.lane, int(given.accepted_at), int(at + given.deadline_ms))
  for _, field in ipairs({ id .. '|begin', int(at) .. ' ' .. by, id .. '|next_attempt_at', int(at) }) do
    record[#record + 1] = field
  end
  redis.call('HSET', STATE, unpack(record))
end
