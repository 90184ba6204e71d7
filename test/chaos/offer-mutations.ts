/** The protections of what is handed over to those that wait, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

/** Of directives. */
const OFFER_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'offer-deaf': [patch('offer-deaf', 'local stands = offered_at and now - tonumber(offered_at) <= OFFER_MS')],
  'offer-old': [patch('offer-deaf', 'local stands = offered_at and is_heard(channel)')],
  'offer-paused': [
    patch(
      'offer-paused',
      "if meta[2] or meta[3] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    ),
  ],
  'offer-limited': [
    patch(
      'offer-paused',
      "if meta[1] or meta[3] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    ),
  ],
  'offer-rate': [
    patch(
      'offer-paused',
      "if meta[1] or meta[2] or redis.call('EXISTS', BASE .. 'wait', BASE .. 'prioritized') > 0 then",
    ),
  ],
  'offer-jump': [patch('offer-paused', 'if meta[1] or meta[2] or meta[3] or false then')],
  'offer-serial': [
    patch(
      'offer-serial',
      "return string.sub(lane, 1, 5) == 'tool.' or redis.call('EXISTS', prefix .. ':{lane:' .. lane .. '}:serial') == 0",
    ),
  ],
  'offer-large': [patch('offer-large', "if lane == '' or begins_later(ARGV[at + 4]) then")],
  'offer-begin': [
    patch('offer-begin', "local slot = facts.slot_for and ARGV[at + 6] == '' and facts.slot_for(at, now)"),
  ],
  'offer-unbegun': [
    patch(
      'offer-unbegun',
      "add_claim(record, id, '1', int(now + slot.lease_ms), slot.token .. '/0', int(now))",
    ),
  ],
  'offer-look': [patch('offer-look', 'if false then')],
  'offer-lock': [
    patch('offer-lock', '(() => {})(() => void renew().catch(onError), lockMs / RENEWALS_PER_LOCK);'),
  ],
  'offer-fresh': [patch('offer-fresh', 'const askedAt = performance.now();')],
  'offer-full': [
    patch('offer-full', 'if (data !== null && (claiming === undefined || claimingNow() !== null)) {'),
  ],
  'offer-claim': [patch('offer-claim', '')],
  'offer-returned': [patch('offer-returned', '')],
  'offer-withdrawn': [patch('offer-withdrawn', 'await settled(true);')],
  'offer-marker': [patch('offer-marker', '')],
  'offer-again': [patch('offer-again', 'return [];\n}')],
  'offer-bound': [patch('offer-bound', 'if false then')],
};

/** With the test that notices them. */
export const OFFERS_NOTICED = [[OFFER_MUTATIONS, 'test/integration/worker/handed-over.test.ts']] as const;
