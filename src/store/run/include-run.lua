-- How a run begins in a request: the record of it, written by every script that starts one.
-- Must never write a run where there is one.
-- @include include-entrance.lua

-- The OPENING_FIELDS of the request, where there is room for a run of that spec; else nil, and the bytes that it holds.
local function opening_of_run(spec, most_bytes)
  local request = redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
  if has_room(RECORD_BYTES + #spec, request[7], tonumber(request[3] or '0') + 1, most_bytes) then
    return request
  end
  return nil, tonumber(request[7] or '0')
end

-- `<begins at> <to be begun by, or ->`, of `<when, as include-later.lua says, or -> <start_by_ms, or ->`; and when it begins.
local function begin_of_run(words, now)
  local word, start_by = string.match(words, '^(%S+) (%S+)$')
  local at = begins_at(word or '-', now)
  return int(at) .. ' ' .. ((start_by or '-') ~= '-' and int(at + tonumber(start_by)) or '-'), at
end

-- `run`: digest, agent, spec, trace. The further arguments are names and values of the state.
local function write_run(request, run, now, ...)
  local facts = open_request(request, 1, 0, now, false)
  redis.call('HSET', BODIES, '@spec', run.spec)
  add_fields(facts.fields, 'bytes', int(facts.bytes + RECORD_BYTES + #run.spec), '@run|digest', run.digest, '@run|agent', run.agent,
    '@run|trace', run.trace, '@run|version', '0', '@run|status', 'pending', '@run|created_at', int(now), '@run|changed_at', int(now),
    RUN_INBOX, '', ...)
  redis.call('HSET', STATE, unpack(facts.fields))
end
