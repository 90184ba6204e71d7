/** The protections of claims that are granted with an acceptance, and of ends that are written with a turn, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { OFFERS_NOTICED } from './offer-mutations.ts';
import { STARTS_NOTICED } from './start-mutations.ts';
import { type Patch, patch, SCRIPTS } from './patch.ts';

const ACCEPT = `${SCRIPTS}/include-accept.lua`;
const FIRST = `${SCRIPTS}/include-first-claim.lua`;
const ENTRANCE = 'src/queue/entrance.ts';

const AHEAD_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'ahead-token': [patch(ACCEPT, "token .. '/0', int(now)", "'x/0', int(now)")],
  'ahead-started': [patch(ACCEPT, "if ARGV[signal] ~= '' then", 'if false then')],
  'ahead-unconfirmed': [patch(ENTRANCE, 'isOwn && confirm === null', 'isOwn')],
  'ahead-paused': [patch(ENTRANCE, 'together && isOwn &&', 'together &&')],
  'ahead-unanswered': [
    patch(ENTRANCE, 'void place?.lookUp();\n      if (!is', 'place?.release();\n      if (!is'),
  ],
  'ahead-overtaken': [
    patch(ENTRANCE, 'if (entry.mayBeThere?.(verdict)) void place?.lookUp();\n      else', ''),
  ],
  'ahead-another': [patch('src/journal/record-reader.ts', ' || claimantFrom(values) !== `${token}/0`', '')],
  'ahead-refused': [patch(ENTRANCE, 'place?.release();', '')],
  'ahead-look': [patch(ENTRANCE, 'Math.min(each.afterMs, claim.leaseMs)', 'each.afterMs')],
  'ahead-twice': [patch(ENTRANCE, 'place === null ? enqueueAhead(entry) : undefined', 'enqueueAhead(entry)')],
  'ahead-later': [
    patch(
      'src/queue/prepare.ts',
      'if (lane === null || later) return undefined;',
      'if (lane === null) return undefined;',
    ),
  ],
  'ahead-serial': [patch('src/worker/claim-ahead.ts', '...ENDS_LATER, serial }', '...ENDS_LATER }')],
};

const AHEAD_TURN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'ahead-turn': [patch('src/engine/turn.ts', "mayBeThere: ({ kind }) => kind === 'version',", '')],
};

const COMMIT = `${SCRIPTS}/run-commit.lua`;
const END = 'src/engine/end-with-turn.ts';

const END_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'end-alone': [patch(COMMIT, "(ended[1] == 'ended' and ended[6] == 1)", "ended[1] == 'ended'")],
  'end-another': [patch(COMMIT, " or (ended and ended[1] ~= 'ended')", '')],
  'end-clock': [patch(COMMIT, 'if ended and math.abs(now', 'if false and math.abs(now')],
  'end-repeated': [patch(COMMIT, "ended[1] == 'already' or ", '')],
  'end-fence': [patch(COMMIT, 'fence = ARGV[END + 1]', "fence = ''")],
  'end-slow': [patch('src/engine/held-runs.ts', ' && !slow.has(requestId)', '')],
  'end-read': [patch(END, 'isRead: false', 'isRead: true')],
  'end-unsent': [patch(END, 'if (isSent) throw error;', 'throw error;')],
  'end-confirmed': [
    patch(
      'src/service/store.ts',
      "return durability === 'memory' ? endsWithTurns(",
      'return true ? endsWithTurns(',
    ),
  ],
  'end-paused': [
    patch(
      'src/queue/run-wake.ts',
      'return (await isFree(RUN_LANE)) ? local.takeEnd(',
      'return true ? local.takeEnd(',
    ),
  ],
  'end-held': [patch('src/queue/run-wake.ts', ' || !local.holds?.(requestId)', '')],
  'end-woken': [
    patch('src/journal/endings.ts', 'ahead.isRead ? verdict : settled(', 'true ? verdict : settled('),
  ],
};

const READING = `${SCRIPTS}/include-run-read.lua`;

/** Of what comes with the job of a first turn. */
const READING_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'reading-begun': [patch(READING, "run[1] ~= '0' or ", '')],
  'reading-unread': [patch(READING, "run[7] ~= '' or ", '')],
  'reading-long': [patch(READING, " or redis.call('HSTRLEN', BODIES, '@spec') > MOST_SPEC_BYTES", '')],
  'reading-other': [
    patch(`${SCRIPTS}/include-take.lua`, '"([^"\\\\]+)","id":"@run/0","digest":""}$', '"([^"\\\\]+)"'),
  ],
  'reading-old': [
    patch('src/engine/run-turns.ts', 'performance.now() - known.readAt < MOST_WAIT_MS', 'true'),
  ],
  'reading-together': [patch('src/engine/run-turns.ts', 'await inOwnLoop();', '')],
  'reading-slot': [patch('src/engine/engine.ts', 'slots.release();', '')],
};

/** Of the first claim as one field. */
const FIRST_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'first-fence': [patch(FIRST, "return '1', until_at", "return '2', until_at")],
  'first-left': [patch(FIRST, "redis.call('HDEL', STATE, id .. '|first')", '')],
  'first-forgotten': [
    patch(
      FIRST,
      'add_claim_fields(changed, id, fence, lease_until, claimant, started_at)\n    redis',
      'redis',
    ),
  ],
  'first-released': [
    patch(
      `${SCRIPTS}/release.lua`,
      'elseif claim_from(record[10], record[2]) ~= ARGV[2] then',
      'elseif false then',
    ),
  ],
  'end-of-older': [patch(`${SCRIPTS}/include-end.lua`, 'return ended_at, sequence', 'return nil')],
  'first-heartbeat': [patch(`${SCRIPTS}/extend.lua`, 'part_first_claim(held, id, record[4])', '')],
  'first-failed': [patch(`${SCRIPTS}/include-record.lua`, "if status == 'failed' then", 'if false then')],
  'first-lease': [
    patch(
      `${SCRIPTS}/cancel.lua`,
      "tonumber(leased or '0') > now then",
      "tonumber(record[2] or '0') > now then",
    ),
  ],
};

/** Of the list of what an indexer has to read. */
const CHANGE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'change-of-others': [patch(`${SCRIPTS}/change-done.lua`, 'if taken == #done then', 'if true then')],
};

/** With the test that notices them. */
export const AHEAD_NOTICED = [
  [AHEAD_MUTATIONS, 'test/integration/worker/claim-ahead.test.ts'],
  [FIRST_MUTATIONS, 'test/integration/journal/first-claim.test.ts'],
  [AHEAD_TURN_MUTATIONS, 'test/integration/engine/claimed-turn.test.ts'],
  [END_MUTATIONS, 'test/integration/engine/end-with-turn.test.ts'],
  [CHANGE_MUTATIONS, 'test/integration/journal/sweep-index.test.ts'],
  [READING_MUTATIONS, 'test/integration/engine/first-reading.test.ts'],
  ...OFFERS_NOTICED,
  ...STARTS_NOTICED,
] as const;
