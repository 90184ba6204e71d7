-- Remembers that a provider, or one of its models, shall not be called for a while.
-- Must never shorten what is already remembered.
--
-- KEYS[1] block   ARGV[1] ms
-- Returns { 'blocked' } | { 'already' } when a block holds at least as long.
if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[1]) then
  return { 'already' }
end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return { 'blocked' }
