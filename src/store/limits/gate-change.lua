-- Changes how urgent a directive is that waits, or takes it out of the gate.
-- Must never touch what runs.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member   ARGV[2] its new priority ('' = it goes)   ARGV[3] how many may be out
-- Returns { changed | out (it was let out) | unknown, then as `with_released` }. One that was let out and has not begun can go.
arrive()
local item = item_of(ARGV[1])
if not item then
  return with_released({ 'unknown' })
end
local is_out = redis.call('ZSCORE', key('out'), item.member)
if is_out and (ARGV[2] ~= '' or item.owner ~= '') then
  return with_released({ 'out' })
end
local sleeps = redis.call('ZSCORE', key('asleep'), 'i' .. item.member)
if is_out then
  give_back(item)
  wake_all(item.limits)
elseif not sleeps then
  take_from_line(item)
end
if ARGV[2] == '' then
  redis.call('ZREM', key('asleep'), 'i' .. item.member)
  forget(item)
else
  item.priority = tonumber(ARGV[2])
  write_item(item)
  item = item_of(item.member)
  if not sleeps then
    line_up(item)
  end
end
release(tonumber(ARGV[3]))
return with_released({ 'changed' })
