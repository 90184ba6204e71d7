/** `npm run check`: every check of the code that does not run it.
 *  It must not need Redis or the network. */
import { CHECKS, COVERED_BY_TESTS, runChecks } from './checks.ts';

const { failed } = await runChecks([...CHECKS, ...COVERED_BY_TESTS]);
process.exitCode = failed === 0 ? 0 : 1;
