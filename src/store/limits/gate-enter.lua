-- A directive enters the gate of its lane: it waits in its line, and what may go now is let out.
-- Must never let one in twice, nor move what is out.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member   ARGV[2] digest   ARGV[3] tenant   ARGV[4] turn, both hashed   ARGV[5] weight   ARGV[6] priority
-- ARGV[7] arrived_at, milliseconds since the epoch (0 = now)   ARGV[8] how many may be out
-- then of each limit: name, concurrency, max, per_ms ('' = none)
-- Returns { entered | ahead (it is let out, and to be begun before those that have not begun) | there, then as `with_released` }.
local member = ARGV[1]

-- What was accepted last says how much a limit allows, whenever it enters.
local function set_limit(name, allows)
  local accepted = tonumber(ARGV[7]) > 0 and tonumber(ARGV[7]) or NOW
  local said = string.match(redis.call('HGET', key('limits'), name) or '', '|(%d+)$')
  if accepted >= tonumber(said or '0') then
    redis.call('HSET', key('limits'), name, allows .. '|' .. whole(accepted))
  end
end

local function enter()
  -- @guard flow-tags-per-line
  local tenant, turn, names = ARGV[3], ARGV[3] .. '.' .. ARGV[4], {}
  if not is_known(tenant, turn) and tonumber(redis.call('HGET', key('keys'), tenant) or '0') >= MOST_TURNS then
    turn = tenant .. '.'
  end
  if not is_known(tenant, turn) then
    redis.call('HINCRBY', key('keys'), tenant, 1)
  end
  join('', tenant)
  join(tenant, turn)
  for at = 9, #ARGV, 4 do
    names[#names + 1] = ARGV[at]
    redis.call('HINCRBY', key('uses'), ARGV[at], 1)
    set_limit(ARGV[at], ARGV[at + 1] .. '|' .. ARGV[at + 2] .. '|' .. ARGV[at + 3])
  end
  -- All ask for them in the same order.
  table.sort(names)
  -- In the order in which they came, also within a millisecond.
  local arrived = math.max(NOW, tonumber(redis.call('GET', key('last')) or '0') + 0.001)
  redis.call('SET', key('last'), string.format('%.3f', arrived))
  if tonumber(ARGV[7]) > 0 then
    arrived = math.min(arrived, tonumber(ARGV[7]))
  end
  write_item({ member = member, turn = turn, arrived = arrived, priority = tonumber(ARGV[6]), weight = tonumber(ARGV[5]), owner = '',
    digest = ARGV[2], named = table.concat(names, ',') })
  return item_of(member)
end

arrive()
local verdict, capacity = 'there', tonumber(ARGV[8])
local entered
if redis.call('HEXISTS', key('items'), member) == 0 then
  entered = enter()
  verdict = 'entered'
  line_up(entered)
  -- A limit may have been raised.
  wake_all(entered.limits)
elseif redis.call('ZREM', key('asleep'), 'i' .. member) == 1 then
  -- It is due sooner than was thought.
  line_up(item_of(member))
end
lapse()
release(capacity)
if entered and go_ahead(entered, capacity) then
  verdict = 'ahead'
end
return with_released({ verdict })
