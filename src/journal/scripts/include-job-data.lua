-- The id of a directive's job, and what its data says of its body. job.ts is its other half.
-- Must never give the job of a directive a number as its id: BullMQ refuses one.

-- `ref`: <request>/<directive>
local function job_id(ref)
  return 'd' .. string.sub(redis.sha1hex(ref), 1, 31)
end

-- A member of a job's data, at its end: whoever takes the job with a claim gets the body with it, in its place. What has none of the two
-- has its body read by the worker.
local IS_SMALL = ',"is_small":true}'

local function with_body(data, body)
  return string.sub(data, 1, -#IS_SMALL - 1) .. ',"envelope":' .. body .. '}'
end
