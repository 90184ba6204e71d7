// The clock of the test kit: moves the time of Redis, as this process' scripts and reads see it. Not reachable by a
// configuration, a variable or a caller: moving the clock ends leases and deadlines.
import type { RedisConnection } from './connection.ts';
import { sharedPart } from './script-bundle.ts';

/** Where the scripts read by how many milliseconds it is moved. The test kit has a Redis of its own. */
export const MOVED_CLOCK_KEY = 'adjutant:moved-clock';

const MOVED_TIME = `local redis = setmetatable({
  call = function(command, ...)
    if command ~= 'TIME' then return redis.call(command, ...) end
    local time = redis.call('TIME')
    local moved = tonumber(redis.call('GET', '${MOVED_CLOCK_KEY}') or '0')
    local micros = tonumber(time[2]) + moved % 1000 * 1000
    local seconds = tonumber(time[1]) + math.floor(moved / 1000) + math.floor(micros / 1000000)
    return { string.format('%.0f', seconds), string.format('%.0f', micros % 1000000) }
  end,
}, { __index = redis })
`;

let movedMs: (() => number) | null = null;

/** Before the first script is loaded. `read`: by how much it is moved as far as this process knows, milliseconds. */
export function moveClock(read: () => number): void {
  movedMs = read;
}

/** Milliseconds. */
function clockMovedBy(): number {
  return movedMs?.() ?? 0;
}

/** The script, which reads the moved clock where there is one. */
export function onMovedClock(lua: string): string {
  return movedMs === null ? lua : sharedPart('moved-clock', MOVED_TIME) + lua;
}

/** Reads it: milliseconds since the epoch. */
export function redisClock(connection: RedisConnection): () => Promise<number> {
  return async () => {
    const [seconds, microseconds] = await connection.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000) + clockMovedBy();
  };
}
