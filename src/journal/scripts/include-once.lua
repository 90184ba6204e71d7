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

-- Stands for the run among the directives of a request.
local RUN = '@run'

-- Whether what began there has not ended. One that is gone has. A run has ended with the last of what it has asked for: its request is closed.
local function is_open(part, id)
  local status = part and redis.call('HGET', tag_of_part(part) .. ':state', (id == RUN) and 'status' or id .. '|status')
  if id == RUN then
    return status == 'open'
  end
  return status and not is_terminal(status)
end

-- Whether somebody has asked for the end of a run, or submitted what replaces it.
local function is_to_end(state)
  local asked, replaced = unpack(redis.call('HMGET', state, '@run|post|cancel', '@run|replaced'))
  return asked or replaced
end

-- What it waits for, as once-release.lua says; false = for nothing.
local function behind_of(part, id)
  return redis.call('HGET', tag_of_part(part) .. ':state', id .. '|behind')
end

-- Writes anew when a directive begins, which no attempt was made of. `record`: fields and values to be written.
local function change_begin(record, id, given, at, by)
  add_given(record, id, given.type, given.lane, int(given.accepted_at), int(at + given.deadline_ms))
  for _, field in ipairs({ id .. '|begin', int(at) .. ' ' .. by, id .. '|next_attempt_at', int(at) }) do
    record[#record + 1] = field
  end
  redis.call('HSET', STATE, unpack(record))
end
