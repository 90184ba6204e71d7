-- The record of a run that another program leads, as its scripts share it.
-- Must never touch the keys of a request: each turn and each call has one, whose id is made of the base and its own.
--
-- KEYS[1] state, hash:
--   name, begun, base, trace   name of the run, when it began (milliseconds since the epoch), the beginning of the ids of its requests,
--                              its trace
--   status, outcome            '' or how it was closed, and with what, JSON
--   pass, mark, branch         number of the pass, the last value of its header, '' or the pass if it has left the record
--   told, left, left_request   the last pass whose departure was reported, the recorded turn that it left, and the request of that turn
--   cursor, recent             the turn that was answered last in the pass, and the last turns of it, '9,8,'
--   turns, calls, steps, bytes counts, and the bytes of the results of steps
--   replays                    how many answers were given from the record
--   awaited                    the last turn whose answer calls waited for beside another one, and since when: '<turn> <milliseconds>'
--   refused, undo              how many turns were made and refused, and the turn that was made last: '<turn> <JSON: the fields before it>'
--   t:<digest>                 the turn of a model call
--   n:<turn>                   the turn before it
--   s:<turn>, b:<turn>         the pass that saw it last; '1' = it was made in a branch
--   x:<turn>                   the turn that followed it first in the last pass that recorded one
--   o:<shape>                  the first turn of a history of this shape
--   q:<turn>                   the calls that its answer asks for, JSON: [[name, digest of arguments], ...]
--   a:<turn>, r:<turn>         how many these are, and how often the answer was given from the record
--   u:<turn>                   those of them that were made since it was answered last, ',0,2,'
--   m:<turn>.<index>           the call that it became: '<call> <id>'
--   v:<turn>.<call>            the call that was made before the answer of the turn was noted, and that the answer may ask for
--   e:<call>                   the last one with this tool and these arguments
--   h:<call>                   the `once` calls equal to it whose answers were not given whole since a turn asked for them: '<turn>:<id> ...'
--   c:<id>                     when a call was given this id
--   f:<call>                   '<pass> <how many of it no turn asked for in the pass>'
--   y:<id>                     how often a turn or call was tried again under another id
--   p:<step>                   '<effect> <token> <lease until>'
-- KEYS[2] results, hash: step -> its end, JSON
-- @include include-clock.lua
local STATE, RESULTS = KEYS[1], KEYS[2]
local MOST_RECENT = 8
local MOST_HELD = 256

local function get(field)
  return redis.call('HGET', STATE, field) or ''
end

local function number(field)
  return tonumber(redis.call('HGET', STATE, field) or '0')
end

local function set(...)
  redis.call('HSET', STATE, ...)
end

local function keep(ms)
  redis.call('PEXPIRE', STATE, ms)
  redis.call('PEXPIRE', RESULTS, ms)
end

-- Begins the run where there is none. false: there is none, and without a base none is begun.
local function begin(name, base, trace)
  if redis.call('HEXISTS', STATE, 'name') == 1 then
    return true
  elseif base == '' then
    return false
  end
  set('name', name, 'begun', int(now_ms()), 'base', base, 'trace', trace, 'pass', '1')
  return true
end

-- Begins a pass. The turn that was answered last is kept: a program may go on from what it has saved.
local function begin_pass()
  local cursor = get('cursor')
  set('pass', int(number('pass') + 1), 'branch', '', 'recent', cursor == '' and '' or cursor .. ',', 'u:' .. cursor, '')
end

-- Another value of the header begins a pass.
local function read_mark(mark)
  if mark == '' or mark == get('mark') then
    return false
  end
  local is_first = get('mark') == '' and number('turns') == 0 and number('calls') == 0
  set('mark', mark)
  if is_first then
    return false
  end
  begin_pass()
  return true
end

-- The last `most` calls of a list of `h:<call>`, without one of them.
local function without(held, id, most)
  local kept = {}
  for turn, other in string.gmatch(held, '(%d+):(%S+)') do
    if other ~= id then
      kept[#kept + 1] = turn .. ':' .. other .. ' '
    end
  end
  return table.concat(kept, '', math.max(1, #kept - most + 1))
end

-- The request of a turn or call as it is tried now.
local function request_of(id)
  local tries = get('y:' .. id)
  return get('base') .. '.' .. (tries == '' and id or id .. '.' .. tries)
end

-- Tries it again, unless another caller that saw the same end has done so.
local function try_again(id, request)
  if request_of(id) == request then
    redis.call('HINCRBY', STATE, 'y:' .. id, 1)
  end
end
