/** One attack in a process of its own: prepares, says `ready`, attacks after a line on stdin, and says how it was answered.
 *  It must end by itself. Arguments: name of the attack, its target as JSON, its longest time in milliseconds. */
import { once } from 'node:events';
import { ATTACKS, type Target } from './attacks.ts';

const [name = '', target = '', longestMs = '0'] = process.argv.slice(2);
const attack = ATTACKS.find((each) => each.name === name);
if (attack === undefined) throw new Error(`There is no attack '${name}'.`);
const place = JSON.parse(target) as Target;
const shoot = await attack.prepare(place);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const over = AbortSignal.timeout(Number(longestMs));
const statuses: Record<string, number> = {};
const shots = Math.max(1, Math.ceil(attack.shots * place.scale));
let begun = 0;
const repeat = async (): Promise<void> => {
  while (begun < shots && !over.aborted) {
    begun += 1;
    const status = await shoot(begun, over).catch((error: Error) => (over.aborted ? 'unanswered' : error.message));
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
};
await Promise.all(Array.from({ length: Math.min(attack.atOnce, shots) }, repeat));
process.stdout.write(`done ${JSON.stringify(statuses)}\n`);
process.exit(0);
