-- Writes rows of the search index, each with the sets it is in.
-- Must never replace what was read of a request later by what was read earlier, nor get a request twice in one call.
-- @include include-search.lua
--
-- ARGV[1] prefix of the facets   ARGV[2..] of each row: request id, version, created_at, when it goes ('' = not yet), facets (each
--   followed by \1), JSON, bytes ('' = they are not limited)
-- Returns { how many were written }.
local PREFIX = ARGV[1]

-- What is added is gathered by sorted set, as scores and members, and written with one command for each: the file of Redis then names each
-- set once. Whatever is removed comes after what was added before it.
local added, written_now = {}, {}

local function add(set, score, member)
  local pairs_of = added[set] or {}
  added[set] = pairs_of
  pairs_of[#pairs_of + 1] = score
  pairs_of[#pairs_of + 1] = member
end

local function flush()
  for set, scored in pairs(added) do
    redis.call('ZADD', set, unpack(scored))
  end
  added = {}
end

local function change_facets(id, created, before, after)
  local left = {}
  for facet in string.gmatch(before, '([^\1]+)') do
    left[facet] = true
  end
  for facet in string.gmatch(after, '([^\1]+)') do
    if left[facet] then
      left[facet] = nil
    else
      add(PREFIX .. facet, created, id)
      count_error(facet, 1)
    end
  end
  if next(left) then
    flush()
  end
  for facet in pairs(left) do
    drop_facet(PREFIX, facet, id)
  end
end

-- A request that was made anew under an old id begins with version 0 again.
local function is_older(version, created, known_version, known_created)
  local difference = tonumber(created) - tonumber(known_created)
  return difference < 0 or (difference == 0 and version < known_version)
end

local function hold_bytes(id, bytes)
  local known = tonumber(redis.call('HGET', BYTES, id) or 0) or 0
  if bytes ~= known then
    redis.call('HSET', BYTES, id, bytes)
    redis.call('HINCRBY', BYTES, '', bytes - known)
    counts_bytes = true
  end
end

local function write(at, known)
  local id, version, created, expires, facets = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local known_version, known_created, known_facets = parts(known)
  if known_version and is_older(version, created, known_version, known_created) then
    return false
  end
  if known_created and known_created ~= created then
    flush()
    drop_row(PREFIX, id)
    known_version, known_facets = nil, nil
  end
  if not known_version then
    add(ALL, created, id)
  end
  if facets ~= known_facets then
    change_facets(id, created, known_facets or '', facets)
  end
  if expires ~= '' then
    add(EXPIRY, expires, id)
  elseif known_version then
    flush()
    redis.call('ZREM', EXPIRY, id)
  end
  if ARGV[at + 6] ~= '' then
    hold_bytes(id, tonumber(ARGV[at + 6]))
  end
  return ARGV[at + 1] .. ' ' .. created .. '\1' .. facets .. '\2' .. ARGV[at + 5]
end

local ids = {}
for at = 2, #ARGV, 7 do
  ids[#ids + 1] = ARGV[at]
end
local known = redis.call('HMGET', ROWS, unpack(ids))
for index, id in ipairs(ids) do
  local row = write(7 * index - 5, known[index])
  if row then
    written_now[#written_now + 1] = id
    written_now[#written_now + 1] = row
  end
end
flush()
if #written_now > 0 then
  redis.call('HSET', ROWS, unpack(written_now))
end
return { #written_now / 2 }
