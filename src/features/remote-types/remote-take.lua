-- Gives a remote worker the next waiting work. It is not begun yet: until then its lease is short, and its end has no effect.
-- Must never examine more than MOST_EXAMINED works in one call: Redis serves no other client meanwhile.
-- @include include-remote-work.lua
--
-- ARGV[1] token of the taker   ARGV[2] longest time until the begin, milliseconds
-- Returns { 'id', id, 'body', JSON, 'lease', milliseconds, 'remaining', milliseconds until the deadline, 'attempt', number }; nothing waits: {};
--   { 'more', 1 }: every work that was examined was passed over, and the next call goes on.
local MOST_EXAMINED = 256
local now = now_ms()
note_asked(now)
for _ = 1, MOST_EXAMINED do
  local id = redis.call('LPOP', QUEUE)
  if not id then
    return {}
  end
  local key = key_of(id)
  local record = redis.call('HMGET', key, 'state', 'lease', 'body', 'deadline', 'attempt', 'begun')
  local remaining = tonumber(record[4] or 0) - now
  -- Work that was withdrawn, is kept no longer, or has reached its deadline is passed over.
  if record[1] == 'waiting' and remaining > 0 then
    local lease = tonumber(record[2])
    local until_at = now + math.min(lease, tonumber(ARGV[2]))
    redis.call('HSET', key, 'state', 'taken', 'token', ARGV[1], 'until', int(until_at))
    -- Each begin was one attempt.
    local attempt = tonumber(record[5] or '1') + tonumber(record[6])
    return { 'id', id, 'body', record[3], 'lease', lease, 'remaining', int(remaining), 'attempt', attempt }
  end
end
return { 'more', 1 }
