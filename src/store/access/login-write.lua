-- Stores a login at an MCP server in place of the version that was read, and gives the lock back.
-- Must never overwrite what another process has stored meanwhile, write under the lock of another, nor keep a login after its end.
--
-- KEYS[1] login: hash version, sealed, ends (absent: no end)   KEYS[2] lock: string, its holder
-- ARGV[1] the version it replaces ('' = there was none, '*' = whatever is there)   ARGV[2] holder of the lock
-- ARGV[3] the new version   ARGV[4] sealed text   ARGV[5] keep_ms
-- ARGV[6] with '*': when the login ends, ms ('' = never). Any other write keeps the end.
-- Returns { 'written' } | { 'stale' }. A lock without a holder does no harm: the version decides.
local LOGIN, LOCK = KEYS[1], KEYS[2]
local version = redis.call('HGET', LOGIN, 'version') or ''

local function written()
  redis.call('PEXPIRE', LOGIN, ARGV[5])
  local ends = redis.call('HGET', LOGIN, 'ends')
  if ends then
    redis.call('PEXPIREAT', LOGIN, ends, 'LT')
  end
  return { 'written' }
end

if version == ARGV[3] then
  -- A lost connection repeats the command, and so does a write that was not confirmed: only a write can be confirmed.
  return written()
end
if ARGV[1] == '*' then
  redis.call('HDEL', LOGIN, 'ends')
  if ARGV[6] ~= '' then
    redis.call('HSET', LOGIN, 'ends', ARGV[6])
  end
else
  local holder = redis.call('GET', LOCK)
  if version ~= ARGV[1] or (holder and holder ~= ARGV[2]) then
    return { 'stale' }
  end
  redis.call('DEL', LOCK)
end
redis.call('HSET', LOGIN, 'version', ARGV[3], 'sealed', ARGV[4])
return written()
