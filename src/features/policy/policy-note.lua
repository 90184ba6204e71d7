-- Writes down what rules decided about a running attempt's directive, with its signal; later attempts go by it.
-- Must never write for an attempt that was taken over or has ended, nor decide twice. Of the models that its tool asks, one request after
-- the other, only the last decision is known.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] what was decided, JSON of a few KiB at most: it is written in any
-- case; of models that its tool asks, the number of the request
-- ARGV[4] signal, JSON ('' = none)   ARGV[5] field of the decision; `policy_sampled` = of models that its tool asks
-- Returns { 'noted', value of the field, by this attempt or an earlier one } | { 'stale' }
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|' .. ARGV[5], 'seq')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
-- @guard policy-once
if record[3] and (ARGV[5] ~= 'policy_sampled' or record[3] == ARGV[3]) then
  return { 'noted', record[3] }
end
local sequence = emit(tonumber(record[4] or '0'), 4, ARGV[4] ~= '' and 4 or 3, false)
redis.call('HSET', STATE, id .. '|' .. ARGV[5], ARGV[3], 'seq', int(sequence))
grow(#ARGV[3] - #(record[3] or ''))
return { 'noted', ARGV[3] }
