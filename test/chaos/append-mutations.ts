/** The protections of appends that share a call, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

export const APPEND_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'append-fence': [patch('append-fence', "if record[1] ~= 'running' then")],
  'append-repeat': [patch('append-repeat', 'if false then')],
  'append-apart': [
    patch(
      'append-apart',
      'local ran, verdict = true, append(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], first, last)',
    ),
  ],
  'append-counted': [patch('append-counted', "local held = int(tonumber(record[5] or '0'))")],
  'append-soon': [patch('append-soon', 'schedule(areMany() && together);')],
  'append-end': [patch('append-end', 'if (hold) return;')],
  'append-bound': [patch('append-bound', '')],
};
