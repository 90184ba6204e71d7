/** The protections of the first claim of a directive, and of the list of changed requests, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { OFFERS_NOTICED } from './offer-mutations.ts';
import { STARTS_NOTICED } from './start-mutations.ts';
import { type Patch, patch, SCRIPTS } from './patch.ts';

const FIRST = `${SCRIPTS}/include-first-claim.lua`;

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
  [FIRST_MUTATIONS, 'test/integration/journal/first-claim.test.ts'],
  [CHANGE_MUTATIONS, 'test/integration/journal/sweep-index.test.ts'],
  ...OFFERS_NOTICED,
  ...STARTS_NOTICED,
] as const;
