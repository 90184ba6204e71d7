/** `npm run check`: every check of the code that does not run it.
 *  It must not need Redis or the network. */
import { BOUNDARIES, CHECKS, runChecks } from './checks.ts';

const { failed } = await runChecks([...CHECKS, BOUNDARIES]);
process.exitCode = failed === 0 ? 0 : 1;
