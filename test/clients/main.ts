/** `npm run test:clients`: clients that generators in TypeScript, Python and Go make of the service's description, each against a real service. */
import { spawnSync } from 'node:child_process';

const files = process.argv.slice(2);
const args = ['run', '--reporter=verbose', ...(files.length === 0 ? ['test/clients/'] : files)];
process.exitCode = spawnSync('vitest', args, { stdio: 'inherit' }).status ?? 1;
