-- Shared by the scripts of the search index of one tenant: how a row and the sets it is in change together.
-- Must never leave a request in a set that its row does not name.
--
-- KEYS[1] rows      hash: request id -> `<version> <created_at>` \1 `<facet>`\1... \2 JSON
-- KEYS[2] all       sorted set of request ids by creation
-- KEYS[3] expiry    sorted set of request ids by when their rows go, milliseconds since the epoch
-- KEYS[4] errors    sorted set of error types by how many requests had them
-- KEYS[5] bytes     hash: request id -> bytes that it holds, and '' -> their sum; there is one only of a tenant whose bytes are limited
-- `prefix` of the facets' sorted sets of request ids by creation: keys of the same slot
local ROWS, ALL, EXPIRY, ERRORS, BYTES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local counts_bytes = redis.call('EXISTS', BYTES) == 1

-- nil = there is no row.
local function parts(row)
  if row then
    local version, created, facets = string.match(row, '^(%d+) (%d+)\1([^\2]*)\2')
    return tonumber(version), created, facets
  end
end

local function count_error(facet, by)
  if string.sub(facet, 1, 2) == 'e:' then
    local type = string.sub(facet, 3)
    if tonumber(redis.call('ZINCRBY', ERRORS, by, type)) <= 0 then
      redis.call('ZREM', ERRORS, type)
    end
  end
end

local function drop_facet(prefix, facet, id)
  redis.call('ZREM', prefix .. facet, id)
  count_error(facet, -1)
end

-- The sum changes with its parts; with the last of them it goes.
local function drop_bytes(id)
  local known = counts_bytes and redis.call('HGET', BYTES, id)
  if known then
    redis.call('HDEL', BYTES, id)
    if redis.call('HINCRBY', BYTES, '', -tonumber(known)) <= 0 then
      redis.call('DEL', BYTES)
      counts_bytes = false
    end
  end
end

local function drop_row(prefix, id)
  drop_bytes(id)
  local _, _, facets = parts(redis.call('HGET', ROWS, id))
  for facet in string.gmatch(facets or '', '([^\1]+)') do
    drop_facet(prefix, facet, id)
  end
  redis.call('HDEL', ROWS, id)
  redis.call('ZREM', ALL, id)
  redis.call('ZREM', EXPIRY, id)
end
