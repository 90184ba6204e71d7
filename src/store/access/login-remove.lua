-- Removes a login at an MCP server.
-- Must never remove another version than the one that is named.
--
-- KEYS[1] login: hash version, sealed   ARGV[1] the version ('*' = whichever is stored)
-- Returns { 'removed' } | { 'stale' }.
local version = redis.call('HGET', KEYS[1], 'version')
if not version or (ARGV[1] ~= '*' and version ~= ARGV[1]) then
  return { 'stale' }
end
redis.call('DEL', KEYS[1])
return { 'removed' }
