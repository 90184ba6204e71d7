/** Builds the console alone: of a clone whose build is missing or older than its sources.
 *  It must print nothing when it succeeds. */
import { buildConsole } from './console-build.ts';

await buildConsole();
