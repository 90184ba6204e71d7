-- The work of one remote directive type, as its scripts share it.
-- Must never let a `once` call begin twice: work that was begun and whose lease has passed is lost, not waiting.
--
-- KEYS[1] beginning of the keys of the type, all in one slot:
--   queue        list of the ids of waiting work, the next one first
--   asked        string: when a program asked for work last, milliseconds since the epoch; kept for a day
--   held         sorted set: ids of begun work by the end of its lease, milliseconds since the epoch
--   served       string: a program executes the type: it has asked within SERVED_MS, or holds work
--   work:<id>    hash: state (waiting, taken, running, ended, cancelled, lost, absent), token of the taker, until (end of its lease,
--                milliseconds since the epoch), begun (how often it was begun), attempt (of its directive, in which it was
--                parked), effect, lease (milliseconds), deadline (milliseconds since
--                the epoch), body (JSON), finish (JSON). absent: its directive went on without it, so that a late park has no effect
-- @include include-clock.lua
local QUEUE, HELD = KEYS[1] .. 'queue', KEYS[1] .. 'held'
local ASKED, SERVED = KEYS[1] .. 'asked', KEYS[1] .. 'served'
local MOST_BEGUN = 4
-- Longer than a program takes to start again.
local SERVED_MS = 30000
local ASKED_MS = 86400000

local function key_of(id)
  return KEYS[1] .. 'work:' .. id
end

local function is_held(state)
  return state == 'taken' or state == 'running'
end

-- For how long a program is known to execute the type, after a change.
local function note_served(now)
  redis.call('ZREMRANGEBYSCORE', HELD, '-inf', int(now))
  local last = redis.call('ZRANGE', HELD, -1, -1, 'WITHSCORES')
  local held = tonumber(last[2] or '0') - now
  local left = math.max(held, tonumber(redis.call('GET', ASKED) or '0') + SERVED_MS - now)
  if held > 0 then
    redis.call('PEXPIRE', HELD, int(held))
  end
  if left > 0 then
    redis.call('SET', SERVED, '1', 'PX', int(left))
  else
    redis.call('DEL', SERVED)
  end
end

-- A program asks for work. Many ask every second: one of them is noted.
local function note_asked(now)
  if redis.call('PTTL', ASKED) < ASKED_MS - 1000 then
    redis.call('SET', ASKED, int(now), 'PX', ASKED_MS)
    note_served(now)
  end
end

-- The queue is kept as long as the work in it that is kept longest.
local function enqueue(command, id)
  redis.call(command, QUEUE, id)
  local kept = redis.call('PTTL', key_of(id))
  redis.call('PEXPIRE', QUEUE, kept, 'NX')
  redis.call('PEXPIRE', QUEUE, kept, 'GT')
end

-- Work that is not there stays so: its park may still be on its way.
local function forbid(id, kept)
  redis.call('HSET', key_of(id), 'state', 'absent', 'token', '', 'begun', 0)
  redis.call('PEXPIRE', key_of(id), kept)
end

-- The state and the token of work whose lease is checked; nil: there is none.
local function settled(id)
  local key = key_of(id)
  local record = redis.call('HMGET', key, 'state', 'token', 'until', 'effect', 'begun')
  local state, token = record[1], record[2]
  if not state then
    return nil
  elseif not is_held(state) or tonumber(record[3]) > now_ms() then
    return state, token
  elseif state == 'running' and (record[4] == 'once' or tonumber(record[5]) >= MOST_BEGUN) then
    redis.call('HSET', key, 'state', 'lost')
    redis.call('HDEL', key, 'body')
    return 'lost', token
  end
  redis.call('HSET', key, 'state', 'waiting', 'token', '')
  enqueue('LPUSH', id)
  return 'waiting', ''
end
