-- Begins a step of the program itself, or renews its lease.
-- Must never let a `once` step run again whose process died, nor two processes run one.
-- @include include-foreign-run.lua
--
-- ARGV[1] name of the run   ARGV[2] base of a new run, or ''   ARGV[3] trace of a new run   ARGV[4] keep, milliseconds
-- ARGV[5] step   ARGV[6] effect   ARGV[7] lease, milliseconds   ARGV[8] token: the same again renews the lease
-- ARGV[9] the most steps
-- Returns { 'kind', 'run', 'begun', 1 = now } | { 'kind', 'recorded', 'end', JSON } | { 'kind', 'running', 'left', milliseconds }
--   | { 'kind', 'unknown' | 'absent' (no run, and no base) | 'ended' | 'full' }.
if not begin(ARGV[1], ARGV[2], ARGV[3]) then
  return { 'kind', 'absent' }
end
keep(ARGV[4])
local step, own = ARGV[5], ARGV[8]
local recorded = redis.call('HGET', RESULTS, step)
if recorded then
  return { 'kind', 'recorded', 'end', recorded }
end
local now = now_ms()
local effect, token, until_at = string.match(get('p:' .. step), '^(%S+) (%S+) (%d+)$')
local lease_until = int(now + tonumber(ARGV[7]))
if token and own == token then
  set('p:' .. step, effect .. ' ' .. token .. ' ' .. lease_until)
  return { 'kind', 'run' }
elseif token and tonumber(until_at) > now then
  return { 'kind', 'running', 'left', tonumber(until_at) - now }
elseif effect == 'once' then
  return { 'kind', 'unknown' }
elseif get('status') ~= '' then
  return { 'kind', 'ended' }
elseif not token then
  if number('steps') >= tonumber(ARGV[9]) then
    return { 'kind', 'full' }
  end
  redis.call('HINCRBY', STATE, 'steps', 1)
end
set('p:' .. step, ARGV[6] .. ' ' .. own .. ' ' .. lease_until)
return { 'kind', 'run', 'begun', 1 }
