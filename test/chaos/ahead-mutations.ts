/** The protections of what is handed over, of calls that come late, and of the list of changed requests, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { OFFERS_NOTICED } from './offer-mutations.ts';
import { type Patch, patch, SCRIPTS } from './patch.ts';

/** Of the list of what an indexer has to read. */
const CHANGE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'change-of-others': [patch(`${SCRIPTS}/change-done.lua`, 'if taken == #done then', 'if true then')],
};

/** Of what becomes of a directive between its claim and its call. */
const LATE_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'late-cancelled': [
    patch(
      `${SCRIPTS}/start.lua`,
      'elseif not has_begun and record[6] then',
      'elseif began_at and record[6] then',
    ),
  ],
};

/** With the test that notices them. */
export const AHEAD_NOTICED = [
  [CHANGE_MUTATIONS, 'test/integration/journal/sweep-index.test.ts'],
  ...OFFERS_NOTICED,
  [LATE_MUTATIONS, 'test/integration/worker/late-calls.test.ts'],
] as const;
