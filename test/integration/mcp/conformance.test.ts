/** A short part of the official conformance suite; `npm run test:conformance` runs all of it.
 *  It must never run the scenarios at once: each starts a server and a client. */
import { expect, test } from 'vitest';
import { NOT_PASSED, SCENARIOS, SHORT } from '../../conformance/scenarios.ts';
import { suiteRun } from '../../conformance/suite-run.ts';

test.each([...SHORT, 'auth/scope-step-up'])('the official suite passes %s', async (scenario) => {
  const { passed, output } = await suiteRun(scenario);
  expect(passed, output).toBe(true);
});

test('each scenario that is not passed is one of the suite', () => {
  expect(SCENARIOS).toEqual(expect.arrayContaining(Object.keys(NOT_PASSED)));
});
