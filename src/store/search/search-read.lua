-- Reads what a row of the search index needs of requests with one directive that did not fail, asks nothing and is no run: of nearly all.
-- Must never read what is large, nor run on a cluster: the requests are in many slots.
--
-- KEYS[..] state and bodies of each request   ARGV[1] the most bytes of a request that is read
-- Returns for each request seven values: `created_at` ('' = not of this sort, or gone: read it otherwise, and the rest is ''), `open`, `seq`,
--   `closed_at` ('' = never), milliseconds until it expires (-1 = not yet), the type of its directive, its envelope, its bytes.
local MOST_BYTES = tonumber(ARGV[1])
local HEAD_FIELDS = { 'created_at', 'open', 'seq', 'closed_at', 'count', '@run|version', 'bytes', '@scores' }

-- Its id and envelope; false = its content is stored in more than one part.
local function only_directive(bodies)
  local id, envelope, other = unpack(redis.call('HGETALL', bodies))
  return id and not other and id, envelope
end

-- false = it failed, asks, waits for an instant, or is not there.
local function type_of(state, id)
  local fields = { id .. '|status', id .. '|asked', id .. '|type', id .. '|begin' }
  local status, asked, type, begin = unpack(redis.call('HMGET', state, unpack(fields)))
  -- @guard search-failure-hidden
  if not status or status == 'failed' or asked or (begin and status == 'waiting') then
    return false
  end
  return type
end

local function read(state, bodies)
  local created_at, open, seq, closed_at, count, run, bytes, scores = unpack(redis.call('HMGET', state, unpack(HEAD_FIELDS)))
  local id, envelope, type
  if created_at and count == '1' and not run and not scores and bytes and tonumber(bytes) <= MOST_BYTES then
    id, envelope = only_directive(bodies)
    type = id and type_of(state, id)
  end
  if not type then
    return '', '', '', '', '', '', '', ''
  end
  local expires_ms = string.format('%.0f', redis.call('PTTL', state))
  return created_at, open or '0', seq or '0', closed_at or '', expires_ms, type, envelope, bytes
end

local reply = {}
for index = 1, #KEYS, 2 do
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4], reply[at + 5], reply[at + 6], reply[at + 7], reply[at + 8] =
    read(KEYS[index], KEYS[index + 1])
end
return reply
