-- Finds or makes the directive of a tool call: of those that the last turns asked for, in order, or one that none asked for.
-- Must never give a `once` call that happened a second directive in a branch, nor one that a turn asked for once, nor one whose answer
-- was not given whole before another turn asked for it again, unless the caller allows the repeat.
-- @include include-foreign-run.lua
--
-- ARGV[1] name of the run   ARGV[2] base of a new run, or ''   ARGV[3] trace of a new run   ARGV[4] keep, milliseconds
-- ARGV[5] digest of tool and arguments   ARGV[6] digest of the arguments
-- ARGV[7] names of the tool, normalised, JSON   ARGV[8] 'once' | ''   ARGV[9] 'repeat': equal calls may happen again | ''
-- ARGV[10] header of the pass, or ''   ARGV[11] the most calls   ARGV[12] 'wait': the answer of the last turn is waited for | ''
-- Returns { 'kind', 'call' | 'early' (the answer of a turn that may ask for it is not noted yet) | 'absent' (no run, and no base)
--   | 'ended' | 'full', 'request', id,
--   'id', its id in the run, 'trace', trace, 'age', milliseconds since it was given its id, 'made', 1 = now }.
local MOST_AWAITED_MS = 1000
if not begin(ARGV[1], ARGV[2], ARGV[3]) then
  return { 'kind', 'absent' }
end
keep(ARGV[4])
local call, arguments, names = ARGV[5], ARGV[6], cjson.decode(ARGV[7])
read_mark(ARGV[10])
local cursor = get('cursor')
local allows_repeat, is_once = ARGV[9] == 'repeat', ARGV[8] == 'once'
-- A turn whose answer is not noted yet. Hosts call a tool while its model still writes: the answer may turn out to ask for this call.
local function unnoted(turn)
  return turn ~= '' and get('n:' .. turn) ~= '' and redis.call('HEXISTS', STATE, 'q:' .. turn) == 0 and turn or nil
end
local writing = unnoted(cursor)
if ARGV[12] == 'wait' and writing then
  return { 'kind', 'early' }
end
-- The child of a killed program may go on beside the next start, which has moved the cursor away from the turn of the child.
local newest = is_once and unnoted(get('turns')) or nil

-- Hosts put the name of the server, and more, before the name of a tool.
local function is_named(asked)
  for _, name in ipairs(names) do
    if asked == name or string.sub(asked, -(#name + 1)) == '_' .. name then
      return true
    end
  end
  return false
end

local made
local function answer(id)
  return { 'kind', 'call', 'request', request_of(id), 'id', id, 'trace', get('trace'), 'age', now_ms() - number('c:' .. id),
    'made', made == id and 1 or 0 }
end

-- The calls of a turn that were not made since it was answered last, and their indexes: first those that became this very call
-- before, then equal ones, then those whose arguments the host has completed. The last value: whether one that was made is this call.
local function asked_by(turn)
  local asked = cjson.decode(redis.call('HGET', STATE, 'q:' .. turn) or '[]')
  local made = ',' .. get('u:' .. turn)
  local same, equal, named, is_repeat
  for index, each in ipairs(asked) do
    local at = int(index - 1)
    if is_named(each[1]) then
      local became = get('m:' .. turn .. '.' .. at)
      local is_same = string.sub(became, 1, #call + 1) == call .. ' '
      if string.find(made, ',' .. at .. ',', 1, true) then
        is_repeat = is_repeat or is_same
      elseif is_same then
        same = same or at
      elseif became == '' then
        equal = equal or (each[2] == arguments and at) or nil
        named = named or at
      end
    end
  end
  return same, equal, named, is_repeat
end

local happened = get('e:' .. call)
happened = happened ~= '' and happened or nil

-- The refusal, or nil.
local function make(id)
  if get('status') ~= '' then
    return { 'kind', 'ended' }
  elseif number('calls') >= tonumber(ARGV[11]) then
    return { 'kind', 'full' }
  end
  redis.call('HINCRBY', STATE, 'calls', 1)
  set('c:' .. id, int(now_ms()))
  made = id
end

-- An equal call whose answer was not given whole, and the turn that asked for it last; nil: `turn` itself asked for all of them.
local function unanswered(turn)
  for asker, id in string.gmatch(get('h:' .. call), '(%d+):(%S+)') do
    if is_once and not allows_repeat and asker ~= turn then
      return id, asker
    end
  end
end

-- Its answer counts as not given, until that is noted again.
local function hold(turn, id)
  if is_once then
    set('h:' .. call, without(get('h:' .. call), id, MOST_HELD - 1) .. turn .. ':' .. id .. ' ')
  end
end

local function take(turn, index, is_mapped)
  local field = 'm:' .. turn .. '.' .. index
  local id = 't' .. turn .. '.c' .. index
  local early = get('v:' .. turn .. '.' .. call)
  if is_mapped then
    id = string.match(get(field), ' (%S+)$')
  elseif early ~= '' then
    id = early
    redis.call('HDEL', STATE, 'v:' .. turn .. '.' .. call)
  else
    local known = unanswered(turn) or (is_once and get('branch') ~= '' and not allows_repeat and happened)
    local refusal = not known and make(id)
    if refusal then
      return refusal
    end
    id = known or id
  end
  hold(turn, id)
  set('u:' .. turn, get('u:' .. turn) .. index .. ',', field, call .. ' ' .. id, 'e:' .. call, id)
  return answer(id)
end

local turns = {}
for turn in string.gmatch(get('recent'), '%d+') do
  turns[#turns + 1] = turn
end
local completed, is_repeat
for _, turn in ipairs(turns) do
  local same, equal, named, is_made = asked_by(turn)
  if same or equal then
    return take(turn, same or equal, same ~= nil)
  end
  completed = completed or (named and { turn, named }) or nil
  is_repeat = is_repeat or is_made
end
-- A call that was made already, and comes again from another program of the run, completes no other one.
if completed and not is_repeat then
  return take(completed[1], completed[2], false)
end

-- Its answer may never come, and a program makes many calls of its own: they wait for one second together.
local function is_awaited(turn)
  local known, since = string.match(get('awaited'), '^(%d+) (%d+)$')
  if known ~= turn then
    set('awaited', turn .. ' ' .. int(now_ms()))
    return true
  end
  return now_ms() - tonumber(since) < MOST_AWAITED_MS
end
if ARGV[12] == 'wait' and newest and is_awaited(newest) then
  return { 'kind', 'early' }
end
local is_elsewhere = not writing
writing = writing or newest or ''

-- No turn asks for it (any more). A `once` call that a turn asked for is that call again, as its host repeats it; and where the program
-- does not name its passes, nothing tells a second call from the first one after a restart.
local id, asker = unanswered(writing)
if id then
  hold(asker, id)
elseif is_once and happened and not allows_repeat
  and (get('branch') ~= '' or get('mark') == '' or string.sub(happened, 1, 1) == 't') then
  id = happened
  -- A program that starts again repeats it. The answer that is still written may ask for another one.
  writing = is_elsewhere and '' or writing
else
  local pass, count = string.match(get('f:' .. call), '^(%d+) (%d+)$')
  count = pass == get('pass') and tonumber(count) + 1 or 1
  id = 'c.' .. call .. '.' .. int(count)
  local refusal = get('c:' .. id) == '' and make(id) or nil
  if refusal then
    return refusal
  end
  set('f:' .. call, get('pass') .. ' ' .. int(count), 'e:' .. call, id)
end
if writing ~= '' then
  set('v:' .. writing .. '.' .. call, id)
  hold(writing, id)
end
return answer(id)
