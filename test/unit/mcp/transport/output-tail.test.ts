/** Which part of a server's stderr is kept and which is logged.
 *  It must never wait for a real second. */
import { expect, test } from 'vitest';
import { createOutputTail } from '../../../../src/mcp/transport/output-tail.ts';

test('keeps the last 64 KiB', () => {
  const tail = createOutputTail({ onLine: () => {}, now: () => 0 });
  for (let index = 0; index < 3_000; index += 1) tail.push(Buffer.from(`line ${index} ${'x'.repeat(90)}\n`));
  expect(Buffer.byteLength(tail.text())).toBe(64 * 1024);
  expect(tail.lineOfCause()).toMatch(/^line 2999 /);
});

test('logs 20 lines a second and then says how many it left out', () => {
  let now = 0;
  const logged: [string, number][] = [];
  const tail = createOutputTail({
    onLine: (line, suppressed) => logged.push([line, suppressed]),
    now: () => now,
  });
  for (let index = 0; index < 100; index += 1) tail.push(Buffer.from(`line ${index}\n`));
  expect(logged).toHaveLength(20);
  now = 1_000;
  tail.push(Buffer.from('later\n'));
  expect(logged.at(-1)).toEqual(['later', 80]);
});

test('puts a line together from its pieces and leaves out empty ones', () => {
  const logged: string[] = [];
  const tail = createOutputTail({ onLine: (line) => logged.push(line), now: () => 0 });
  for (const piece of ['he', 'llo\n\n  \nwor', 'ld\n']) tail.push(Buffer.from(piece));
  expect(logged).toEqual(['hello', 'world']);
  expect(tail.lineOfCause()).toBe('world');
});

test('a line without an end does not grow', () => {
  const logged: string[] = [];
  const tail = createOutputTail({ onLine: (line) => logged.push(line), now: () => 0 });
  for (let index = 0; index < 1_000; index += 1) tail.push(Buffer.from('x'.repeat(1_000)));
  tail.push(Buffer.from('\n'));
  expect(logged[0]?.length).toBeLessThanOrEqual(2_000);
});

test('the line of the cause is the one that names an error, not the stack or the version after it', () => {
  const tail = createOutputTail({ onLine: () => {} });
  const said = [
    "Error: Cannot find module '/x/nothere.js'",
    '    at Module._load (node:internal)',
    '',
    'Node.js v24.21.0',
    '',
  ];
  tail.push(Buffer.from(said.join('\n')));
  expect(tail.lineOfCause()).toBe("Error: Cannot find module '/x/nothere.js'");
});

// Issue 36: "A complete log of this run can be found in …" was all that a newcomer without a network read.
test('the line of the cause is the reason that npm names, not its codes or the place of its log', () => {
  const tail = createOutputTail({ onLine: () => {} });
  const said = [
    'npm error code ENOTFOUND',
    'npm error syscall getaddrinfo',
    'npm error errno ENOTFOUND',
    'npm error network request to https://registry.npmjs.org/server failed, reason: getaddrinfo ENOTFOUND',
    'npm error network This is a problem related to network connectivity.',
    'npm error A complete log of this run can be found in: /home/a/.npm/_logs/debug-0.log',
  ];
  tail.push(Buffer.from(`${said.join('\n')}\n`));
  expect(tail.lineOfCause()).toBe(said[3]);
});
