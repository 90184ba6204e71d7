-- What a directive in the gate of a lane waits for, and how many are there.
-- Must never change anything.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member ('' = none)
-- Returns { waiting, let out, running, kind, name of a limit, how many hold it, how many may, until, how many are before it in its
--   line }; numbers as text, '' = none. kind: none | later | passed | running | limit | rate | turn.
local total, out, passed = redis.call('HLEN', key('items')), redis.call('ZCARD', key('out')), redis.call('ZCARD', key('passes'))
local item = item_of(ARGV[1])

local function seen()
  if not item then
    return 'none', '', '', '', '', ''
  end
  local asleep = redis.call('ZSCORE', key('asleep'), 'i' .. item.member)
  if asleep then
    return 'later', '', '', '', whole(asleep), ''
  elseif redis.call('ZSCORE', key('out'), item.member) then
    return (item.owner == '') and 'passed' or 'running', '', '', '', '', ''
  end
  local before = whole(redis.call('ZRANK', key('line:' .. item.line), item.member) or 0)
  local name = parked_at(item.line)
  if not name then
    return 'turn', '', '', '', '', before
  end
  local concurrency, max, per = limit_of(name)
  local held = redis.call('SCARD', key('held:' .. name))
  if concurrency and held >= concurrency then
    return 'limit', name, whole(held), whole(concurrency), '', before
  end
  return 'rate', name, '', whole(max or 0), max and whole(math.max(NOW, next_start(name, max, per))) or '', before
end

return { whole(total - out), whole(passed), whole(out - passed), seen() }
