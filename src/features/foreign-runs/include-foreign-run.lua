-- The record of a run that another program leads, as its scripts share it.
-- Must never touch the keys of a request: a run finds its requests by their ids.
--
-- KEYS[1] state, hash:
--   request, segment, segment_bytes, segment_entries   the request that new calls go to, its number, what it holds about
--   r:<segment>                the id of a request
--   name, begun, trace         name of the run, when it began (milliseconds since the epoch), its trace
--   status, outcome            '' or how it was closed, and with what, JSON
--   pass, mark, branch         number of the pass, the last value of its header, the pass that has left the record
--   cursor, recent             the turn that was answered last in the pass, and the last turns of it, '9,8,'
--   turns, calls, steps, bytes counts, and the bytes of the results of steps
--   t:<digest>                 the turn of a model call
--   n:<turn>                   '<turn before it> <segment> <made at>'
--   s:<turn>                   the pass that saw it last
--   x:<turn>                   the turn that followed it first in the last pass that recorded one
--   o:<shape>                  the first turn of a history of this shape
--   q:<turn>                   the calls that its answer asks for, JSON: [[name, digest of arguments], ...]
--   u:<turn>                   those of them that were made since it was answered last, ',0,2,'
--   m:<turn>.<index>           the call that it became: '<call> <segment> <id>'
--   e:<call>                   the last directive of a call with this tool and these arguments: '<segment> <id>'
--   c:<id>                     when a call was given this id
--   f:<call>                   '<pass> <how many of it no turn asked for in the pass>'
--   y:<id>                     how often a directive was tried again under another id
--   p:<step>                   '<effect> <token> <lease until>'
-- KEYS[2] results, hash: step -> its end, JSON
local STATE, RESULTS = KEYS[1], KEYS[2]
local MOST_RECENT = 8
-- A request is as cheap to read as it is small; what follows goes to the next one.
local SEGMENT_BYTES, SEGMENT_ENTRIES = 8 * 1024 * 1024, 256

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function int(value)
  return string.format('%.0f', value)
end

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

-- Begins the run where there is none.
local function begin(name, request, trace)
  if redis.call('HEXISTS', STATE, 'name') == 1 then
    return
  end
  set('name', name, 'begun', int(now_ms()), 'trace', trace, 'pass', '1', 'request', request, 'segment', '1', 'r:1', request)
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

-- The segment that a new call of so many bytes goes to.
local function segment_for(bytes)
  local segment = number('segment')
  local held, entries = number('segment_bytes') + bytes, number('segment_entries') + 1
  if entries > 1 and (held > SEGMENT_BYTES or entries > SEGMENT_ENTRIES) then
    segment, held, entries = segment + 1, bytes, 1
    local first = get('r:1')
    set('segment', int(segment), 'r:' .. int(segment), first .. '.' .. int(segment), 'request', first .. '.' .. int(segment))
  end
  set('segment_bytes', int(held), 'segment_entries', int(entries))
  return int(segment)
end

-- A directive as it is tried now.
local function tried(id)
  local tries = get('y:' .. id)
  return tries == '' and id or id .. '.' .. tries
end
