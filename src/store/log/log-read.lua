-- Reads a piece of the log: signals in order, until there are enough of them or of their bytes.
-- Must never write, nor give fewer than one where there is one.
-- @include include-log-read.lua
--
-- ARGV[1] only signals after this sequence   ARGV[2] the most signals   ARGV[3] the most bytes
-- Returns { 1 = there are more, then the signals, JSON }.

-- How many are fetched at once: few, since nothing says how large they are before they are there.
local FIRST_STEP, LARGEST_STEP = 4, 32

-- The names and constants that a reader puts back into a signal, and the request's id.
local LEFT_OUT = 72 + #request_id()

local most, left = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply, after, used = { 0 }, ARGV[1], 0
local step = math.min(FIRST_STEP, most + 1)
while true do
  local entries = log_after(after, step)
  for index = 1, #entries do
    local json = entries[index][2]
    after = entries[index][1]
    if json ~= 'null' then
      local bytes = #json + LEFT_OUT
      if #reply > 1 and (#reply > most or used + bytes > left) then
        reply[1] = 1
        return reply
      end
      used = used + bytes
      reply[#reply + 1] = json
    end
  end
  if #entries < step then
    return reply
  end
  -- One more than fit, so that it is known whether there are more.
  local average = used / math.max(1, #reply - 1)
  step = math.min(LARGEST_STEP, step * 2, 1 + math.floor((left - used) / math.max(1, average)), most - #reply + 2)
  step = math.max(1, step)
end
