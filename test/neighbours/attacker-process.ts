/** One attack in a process of its own: prepares, says `ready`, attacks after a line on stdin, and says how it was answered.
 *  It must end by itself. Arguments: name of the attack, its target as JSON, its longest time in milliseconds. */
import { once } from 'node:events';
import { ATTACKS, carryOut, type Target } from './attacks.ts';

const [name = '', target = '', longestMs = '0'] = process.argv.slice(2);
const attack = ATTACKS.find((each) => each.name === name);
if (attack === undefined) throw new Error(`There is no attack '${name}'.`);
const place = JSON.parse(target) as Target;
const shoot = await attack.prepare(place);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const over = AbortSignal.timeout(Number(longestMs));
const statuses = await carryOut(attack, shoot, { scale: place.scale, over });
process.stdout.write(`done ${JSON.stringify(statuses)}\n`);
process.stdin.destroy();
