/** The protections of a start that is kept from the acceptance on, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch, SCRIPTS } from './patch.ts';

const ACCEPT = `${SCRIPTS}/include-accept.lua`;
const CLAIM = `${SCRIPTS}/include-claim.lua`;
const START = `${SCRIPTS}/start.lua`;
const WORDS = 'src/journal/acceptance-words.ts';

const START_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'kept-start-said': [patch(CLAIM, 'begins_now and (wish.start or started_at)', 'begins_now and started_at')],
  'kept-start-owed': [
    patch(`${SCRIPTS}/include-take.lua`, "ARGV[at + 9] == '1' and not start,", "ARGV[at + 9] == '1',"),
  ],
  'kept-start-begun': [
    patch(
      CLAIM,
      "add_first_claim(claim, id, new_lease, wish.token .. '/0', begins_now and int(now))",
      "add_first_claim(claim, id, new_lease, wish.token .. '/0', nil)",
    ),
  ],
  'kept-start-left': [patch(`${SCRIPTS}/include-start.lua`, "redis.call('HDEL', BODIES, START .. id)", '')],
  'kept-start-counted': [
    patch(
      ACCEPT,
      'add_fields(bodies, START .. id, ARGV[at + 7])\n        facts.bytes = facts.bytes + bytes_of_signals(at + 7, at + 7)',
      'add_fields(bodies, START .. id, ARGV[at + 7])',
    ),
  ],
  'kept-start-later': [patch(WORDS, 'if (!started || later ||', 'if (!started ||')],
  'kept-start-long': [patch(WORDS, 'return text.length > MOST_KEPT ?', 'return text.length < 0 ?')],
};

/** Of what has become of a directive between its claim and its call. */
const BEGIN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'kept-start-sure': [patch('src/worker/claim.ts', 'performance.now() - claimedAt <= SURE_MS &&', 'true &&')],
  'kept-start-cancelled': [
    patch(START, 'elseif not has_begun and record[8] then', 'elseif not began_at and record[8] then'),
  ],
  'kept-start-deadline': [
    patch(
      START,
      'elseif not has_begun and tonumber(ARGV[6]) <= now then',
      'elseif not began_at and tonumber(ARGV[6]) <= now then',
    ),
  ],
  'kept-start-claimed': [
    patch(`${SCRIPTS}/claim.lua`, "redis.call('HGET', BODIES, START .. ARGV[1]) or nil", 'nil'),
  ],
  'kept-start-listed': [
    patch(`${SCRIPTS}/search-read.lua`, "(not other or other == '@start|' .. id)", 'not other'),
  ],
};

/** With the test that notices them. */
export const STARTS_NOTICED = [
  [START_MUTATIONS, 'test/integration/worker/kept-start.test.ts'],
  [BEGIN_MUTATIONS, 'test/integration/worker/kept-start.test.ts'],
] as const;
