/** The official conformance suite against `/mcp`, for the older protocol; `npm run test:conformance` runs all of it.
 *  It must never look at a scenario alone: what fails unlisted and what passes although it is listed are both wrong. */
import { expect, test } from 'vitest';
import { startFixtureService } from '../../../conformance/fixture-service.ts';
import { unexpectedOf } from '../../../conformance/server-scenarios.ts';
import { requiredOfServers, serverRuns } from '../../../conformance/suite-run.ts';
import { shared } from '../../../support/shared.ts';

const REVISION = '2025-11-25';

const service = shared(startFixtureService);

test('the official suite ends as its list says', async () => {
  const runs = await serverRuns(service.url, REVISION);
  const ran = runs.map(({ scenario }) => scenario);
  expect(ran).toEqual(expect.arrayContaining([...(await requiredOfServers(REVISION))]));
  const outputs = runs.map(({ scenario, output }) => `${scenario}\n${output}`).join('\n');
  expect(unexpectedOf(runs), outputs).toEqual([]);
});
