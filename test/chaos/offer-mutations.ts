/** The protections of what is handed over to those that wait, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch, SCRIPTS } from './patch.ts';

const OFFERS = `${SCRIPTS}/include-offers.lua`;
const ENTRANCE = `${SCRIPTS}/include-entrance.lua`;
const ACCEPT = `${SCRIPTS}/include-accept.lua`;
const LOOP = 'src/queue/consume.ts';
const RETURN = `${SCRIPTS}/offer-return.lua`;

/** Of directives. */
const OFFER_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'offer-deaf': [patch(OFFERS, ' and is_heard(channel)', '')],
  'offer-old': [patch(OFFERS, 'now - tonumber(offered_at) <= OFFER_MS and ', '')],
  'offer-paused': [patch(OFFERS, 'if meta[1] or meta[2]', 'if meta[2]')],
  'offer-limited': [patch(OFFERS, 'if meta[1] or meta[2] or meta[3]', 'if meta[1] or meta[3]')],
  'offer-rate': [patch(OFFERS, ' or meta[3] or redis', ' or redis')],
  'offer-jump': [patch(OFFERS, "redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0", 'false')],
  'offer-serial': [patch(OFFERS, "~= 'tool.' or", "== 'tool.' or")],
  'offer-large': [patch(ENTRANCE, ' or #envelope > MOST_INLINE_BYTES then', ' then')],
  'offer-begin': [patch(ACCEPT, 'facts.slot_for and deadline_ms and', 'facts.slot_for and')],
  'offer-unbegun': [patch(ACCEPT, 'not slot.owes_start and int(now))', 'int(now))')],
  'offer-look': [patch(ENTRANCE, 'if offer.lease_ms < FIRST_LOOK_MS then', 'if false then')],
  'offer-lock': [patch(LOOP, 'renewing ??= setInterval(', '(() => {})(')],
  'offer-fresh': [
    patch(LOOP, 'const askedAt = offers.instantOf(handed.at);', 'const askedAt = performance.now();'),
  ],
  'offer-full': [patch(LOOP, 'if (data !== null && mayTake() && (', 'if (data !== null && (')],
  'offer-claim': [
    patch(
      RETURN,
      "redis.call('HDEL', STATE, id .. '|fence', id .. '|lease_until', id .. '|claimant', id .. '|started_at')\n",
      '\n',
    ),
  ],
  'offer-returned': [patch(RETURN, "redis.call('RPUSH', BASE .. 'wait', job)", '')],
  'offer-withdrawn': [
    patch(LOOP, 'await offers?.withdraw();\n      await settled(true);', 'await settled(true);'),
  ],
  'offer-marker': [patch(LOOP, '    else await mark();\n', '')],
  'offer-again': [patch('src/queue/lane-offers.ts', 'return [...standing];\n  }', 'return [];\n  }')],
  'offer-bound': [patch(OFFERS, "redis.call('HLEN', BASE .. 'offers') + #offers / 2 > MOST_OFFERS", 'false')],
};

/** With the test that notices them. */
export const OFFERS_NOTICED = [[OFFER_MUTATIONS, 'test/integration/worker/handed-over.test.ts']] as const;
