-- Adds jobs to their lane, behind those that wait, in their order, or before them. While a job is there, adding it again changes nothing.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may; nor add the job of a directive that
-- has ended: where nobody serves the lane it would stay for ever. One Redis only.
-- @include include-lane.lua
--
-- ARGV of each job: id, name, data as JSON, options as JSON, timestamp in milliseconds since the epoch, 'first' = before those that wait
-- Returns { how many were added }.
local added = 0
local place, lane = string.match(BASE, '^{(.*)}:(.*):$')
local PREFIX = place and string.sub(place, 1, -#lane - 2)

-- As job.ts writes the data of a directive's job. Other jobs are of nothing that ends.
local function is_of_ended(data)
  local request, id = string.match(data, '^{"request_id":"([^"]*)","id":"([^"]*)"')
  return is_terminal(request and PREFIX and redis.call('HGET', PREFIX .. ':' .. tag_of(request) .. ':state', id .. '|status'))
end

for at = 1, #ARGV, 6 do
  local id, name, data, options, timestamp, where = unpack(ARGV, at, at + 5)
  -- @guard job-of-ended
  if not is_of_ended(data) then
    if add_job(id, name, data, options, timestamp, false, where == 'first') then
      added = added + 1
    elseif string.find(data, '"type":"run"', 1, true) then
      note_again(id)
    end
  end
end
if added > 0 then
  wake_worker()
end
return { added }
