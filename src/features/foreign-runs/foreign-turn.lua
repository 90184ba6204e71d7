-- Finds or makes the turn of a model call, and moves the cursor of the pass to it.
-- Must never make or repeat a turn of a closed run, nor a second one of a call that is known, unless a fresh answer is asked for.
-- @include include-foreign-run.lua
--
-- ARGV[1] name of the run   ARGV[2] base of a new run, or ''   ARGV[3] trace of a new run   ARGV[4] keep, milliseconds
-- ARGV[5] digest of the call   ARGV[6] shape of its history ('' = it has answers of a model in it)   ARGV[7] header of the pass, or ''
-- ARGV[8] 'fresh' | 'retry' (a repeat of the same call by its client: it begins no pass, unless the program went on) | ''
-- ARGV[9] the most turns   ARGV[10] the request of the call that has failed, or ''
-- Returns { 'kind', 'turn' | 'absent' (no run, and no base) | 'ended' | 'full', 'request', id, 'turn', number, 'pass', number,
--   'trace', trace,
--   'left', turn, 'left_request', id: the recorded turn that the pass leaves with this one }.
if not begin(ARGV[1], ARGV[2], ARGV[3]) then
  return { 'kind', 'absent' }
end
keep(ARGV[4])
local digest, shape, how, failed = ARGV[5], ARGV[6], ARGV[8], ARGV[10]
local is_marked = read_mark(ARGV[7])

local function serve(turn, left)
  local pass, recent = get('pass'), int(turn) .. ','
  local held = 1
  for other in string.gmatch(get('recent'), '%d+') do
    if other ~= int(turn) and held < MOST_RECENT then
      recent, held = recent .. other .. ',', held + 1
    end
  end
  -- A pass that repeats a turn of a branch is a branch.
  if get('b:' .. int(turn)) ~= '' then
    set('branch', pass)
  end
  set('cursor', int(turn), 'recent', recent, 'u:' .. int(turn), '', 's:' .. int(turn), pass)
  local reply = { 'kind', 'turn', 'request', request_of('t' .. int(turn)), 'turn', turn, 'pass', tonumber(pass),
    'trace', get('trace') }
  if left then
    for _, value in ipairs({ 'left', tonumber(left), 'left_request', request_of('t' .. left) }) do
      reply[#reply + 1] = value
    end
  end
  return reply
end

local known = get('t:' .. digest)
-- Where the first caller of a turn is refused, another one may be accepted.
if known ~= '' and string.match(get('undo'), '^%d+') == known then
  redis.call('HDEL', STATE, 'undo')
end
if known ~= '' and failed ~= '' then
  if get('status') ~= '' and request_of('t' .. known) == failed then
    return { 'kind', 'ended' }
  end
  try_again('t' .. known, failed)
  return serve(tonumber(known))
end
if known ~= '' and how ~= 'fresh' then
  -- A client that has lost an answer has not acted on it. An answer that was never noted was never given whole.
  local is_lost = how == 'retry' and (redis.call('HEXISTS', STATE, 'q:' .. known) == 0
    or get('cursor') == known and get('u:' .. known) == '')
  if get('n:' .. known) == '0' and not is_lost and ARGV[7] == '' and get('s:' .. known) == get('pass') then
    local is_branch = how == 'retry' and get('branch') ~= ''
    begin_pass()
    -- The retry may belong to the branch that is under way: as another start it would repeat the calls of the record.
    if is_branch then
      set('branch', get('pass'))
    end
  end
  return serve(tonumber(known))
end

if get('status') ~= '' then
  return { 'kind', 'ended' }
elseif number('turns') - number('refused') >= tonumber(ARGV[9]) then
  return { 'kind', 'full' }
end
local before, expected = get('cursor'), ''
if is_marked then
  before = ''
end
if known ~= '' then
  before = get('n:' .. known)
elseif shape ~= '' and get('o:' .. shape) ~= '' then
  -- The same task with another beginning, as with the time of day in its instructions: the program was started again.
  expected, before = get('o:' .. shape), '0'
  if ARGV[7] == '' then
    begin_pass()
  end
else
  before = before == '' and '0' or before
  local next_turn = get('x:' .. before)
  if next_turn ~= '' and get('s:' .. next_turn) ~= get('pass') then
    expected = next_turn
  end
end
local undo = {}
for _, field in ipairs({ 't:' .. digest, 'x:' .. before, 'o:' .. shape, 'cursor', 'recent' }) do
  undo[field] = get(field)
end
local turn = int(redis.call('HINCRBY', STATE, 'turns', 1))
set('undo', turn .. ' ' .. cjson.encode(undo))
set('t:' .. digest, turn, 'n:' .. turn, before)
if known == '' then
  set('x:' .. before, turn)
end
if shape ~= '' and known == '' then
  set('o:' .. shape, turn)
end
local is_news = expected ~= '' and get('told') ~= get('pass')
if expected ~= '' then
  set('branch', get('pass'))
end
if is_news then
  set('told', get('pass'), 'left', expected, 'left_request', request_of('t' .. expected))
end
if get('branch') ~= '' then
  set('b:' .. turn, '1')
end
return serve(tonumber(turn), is_news and expected or nil)
