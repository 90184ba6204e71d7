-- The id of a directive's job, and what its data says of its body. job.ts is its other half.
-- Must never give the job of a directive a number as its id: BullMQ refuses one.

local SIXTY_FOUR = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

-- Six hexadecimal digits as four characters of base64url.
local function four_of(digits)
  local number = tonumber(digits, 16)
  local fourth = number % 64
  number = (number - fourth) / 64
  local third = number % 64
  number = (number - third) / 64
  local second = number % 64
  local byte = string.byte
  return string.char(byte(SIXTY_FOUR, (number - second) / 64 + 1), byte(SIXTY_FOUR, second + 1), byte(SIXTY_FOUR, third + 1),
    byte(SIXTY_FOUR, fourth + 1))
end

-- `ref`: <request>/<directive>
local function job_id(ref)
  local hex, sub = redis.sha1hex(ref), string.sub
  return 'd' .. four_of(sub(hex, 1, 6)) .. four_of(sub(hex, 7, 12)) .. four_of(sub(hex, 13, 18)) .. four_of(sub(hex, 19, 24))
    .. four_of(sub(hex, 25, 30))
end

-- A member of a job's data, at its end: whoever takes the job with a claim gets the body with it, in its place. What has none of the two
-- has its body read by the worker.
local IS_SMALL = ',"is_small":true}'

local function with_body(data, body)
  return string.sub(data, 1, -#IS_SMALL - 1) .. ',"envelope":' .. body .. '}'
end
