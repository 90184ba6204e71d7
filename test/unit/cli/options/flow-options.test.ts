/** The options of flow control as they are typed.
 *  It must never need a service. */
import { Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import {
  addFlowOptions,
  type FlowOptions,
  flowOptionsOf,
} from '../../../../src/cli/options/submission-options.ts';

function read(...words: string[]): object {
  const command = addFlowOptions(new Command('call').exitOverride().configureOutput({ writeErr: () => {} }));
  return flowOptionsOf(command.parse(words, { from: 'user' }).opts<FlowOptions>());
}

test.each([
  [['--priority', '9'], { priority: 9 }],
  [['--fairness-key', 'a b'], { fairness_key: 'a b' }],
  [['--concurrency', 'account=2'], { concurrency: { key: 'account', limit: 2 } }],
  [['--concurrency', 'a=b=2'], { concurrency: { key: 'a=b', limit: 2 } }],
  [['--rate', 'account=10/1m'], { rate: { key: 'account', max: 10, per_ms: 60_000 } }],
  [['--rate', 'account=10/m'], { rate: { key: 'account', max: 10, per_ms: 60_000 } }],
  [['--rate', 'a/b=1/500ms'], { rate: { key: 'a/b', max: 1, per_ms: 500 } }],
  [[], {}],
])('%j is read as %j', (words, fields) => {
  expect(read(...words)).toEqual(fields);
});

test.each([
  [['--priority', '10'], 'It must be 0 to 9'],
  [['--concurrency', '2'], 'as in account-42=2'],
  [['--concurrency', 'account=0'], 'as in account-42=2'],
  [['--concurrency', 'account=10001'], 'as in account-42=2'],
  [['--rate', 'account=10'], 'as in account-42=10/1m'],
  [['--rate', 'account=10/2d'], 'as in account-42=10/1m'],
  [['--fairness-key', ''], '1 to 256 characters'],
])('%j is refused with the form that is expected', (words, message) => {
  expect(() => read(...words)).toThrow(CommanderError);
  expect(() => read(...words)).toThrow(message);
});
