/** `npm run test:conformance`: the official conformance suite against the pool of MCP servers, scenario by scenario.
 *  It must never count a scenario as passed that is not in the suite any more, nor hide one that fails unexpectedly. */
import { suiteRun } from './suite-run.ts';
import { NOT_PASSED, SCENARIOS } from './scenarios.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const asked = process.argv.slice(2);
const unexpected: string[] = [];
for (const scenario of asked.length > 0 ? asked : SCENARIOS) {
  const { passed, summary, output } = await suiteRun(scenario);
  const why = NOT_PASSED[scenario];
  print(`${passed ? 'passed' : 'NOT PASSED'}  ${scenario}  ${summary}`);
  if (!passed && why !== undefined) print(`            expected: ${why}`);
  if (passed !== (why !== undefined)) continue;
  unexpected.push(scenario);
  print(output);
}
for (const scenario of unexpected) print(`${scenario} did not end as test/conformance/scenarios.ts says.`);
process.exitCode = unexpected.length === 0 ? 0 : 1;
