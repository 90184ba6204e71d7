/** `npm run check`: everything that can be said about the code without running it.
 *  It must not need Redis or the network. */
import { BOUNDARIES, CHECKS, runChecks } from './checks.ts';

const { failed } = runChecks([...CHECKS, BOUNDARIES]);
process.exitCode = failed === 0 ? 0 : 1;
