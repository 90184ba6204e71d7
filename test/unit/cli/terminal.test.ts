/** The terminal: which stream gets what, when colours and the live line appear, and what a tool cannot do to it. */
import { expect, test } from 'vitest';
import { createTerminal, oneLine, plainJson, printable } from '../../../src/cli/terminal.ts';
import { textStream as stream } from '../../support/text-stream.ts';

test('results go to stdout, everything else to stderr', () => {
  const [stdout, stderr] = [stream(false), stream(false)];
  const terminal = createTerminal(stdout, stderr);
  terminal.out('result');
  terminal.err('remark');
  expect([stdout.text(), stderr.text()]).toEqual(['result\n', 'remark\n']);
});

test('the live line is replaced on a terminal and removed before other output', () => {
  const [stdout, stderr] = [stream(true), stream(true)];
  const terminal = createTerminal(stdout, stderr);
  terminal.status('one');
  terminal.status('two');
  terminal.out('result');
  terminal.status('');
  expect(stderr.text()).toBe('one\r\u001B[Ktwo\r\u001B[K');
  expect(stdout.text()).toBe('result\n');
});

test('the live line does not exist in a pipe', () => {
  const stderr = stream(false);
  const terminal = createTerminal(stream(true), stderr);
  terminal.status('one');
  expect(terminal.live).toBe(false);
  expect(stderr.text()).toBe('');
});

test('the live line never wraps', () => {
  const stderr = stream(true, 10);
  createTerminal(stream(true), stderr).status('x'.repeat(50));
  expect(stderr.text()).toBe(`${'x'.repeat(8)}…`);
});

test('rows are cut to the width of a terminal with their colours, and whole in a pipe', () => {
  const rows = [
    ['short', 'x'],
    ['\u001B[31mred\u001B[39m', 'a text that is too wide'],
  ];
  const [shown, piped] = [stream(true, 16), stream(false)];
  createTerminal(shown, shown).rows(rows);
  createTerminal(piped, piped).rows(rows);
  expect(shown.text()).toBe('short  x\n\u001B[31mred\u001B[39m    a text t…\n');
  expect(piped.text()).toContain('a text that is too wide\n');
});

test('foreign control characters are replaced', () => {
  expect(printable('a\u001B[2Jb\u0007c\td\ne\u009B')).toBe('a\uFFFD[2Jb\uFFFDc\td\ne\uFFFD');
  expect(oneLine(' a\n b\r\nc ', 4)).toBe('a b…');
});

test('a terminal gets no control characters but our colours, whatever a verb prints; a file gets everything', () => {
  const text = 'a\u001B]0;t\u0007b\u001B[8mc\u009B2Jd\u202Ee';
  const [shown, kept] = [stream(true), stream(false)];
  const terminal = createTerminal(shown, shown);
  terminal.out(text);
  terminal.write(text);
  terminal.endLine();
  terminal.err(text);
  terminal.status(text);
  createTerminal(kept, kept).out(text);
  const seen = shown.text().replaceAll('\r\u001B[K', '');
  for (const command of ['\u0007', '\u001B', '\u009B', '\u202E']) expect(seen).not.toContain(command);
  expect(kept.text()).toBe(`${text}\n`);
  const coloured = stream(true);
  createTerminal(coloured, coloured).out('\u001B[31mred\u001B[39m');
  expect(coloured.text()).toBe('\u001B[31mred\u001B[39m\n');
});

test('JSON for a terminal is the same value without control characters', () => {
  const value = { text: 'a\u001B\u009B\u202Eb\u007F' };
  for (const command of ['\u001B', '\u009B', '\u202E', '\u007F'])
    expect(plainJson(value)).not.toContain(command);
  expect(JSON.parse(plainJson(value))).toEqual(value);
});

test('pieces of text are one line, until something else is printed', () => {
  const [stdout, stderr] = [stream(true), stream(true)];
  const terminal = createTerminal(stdout, stderr);
  terminal.status('waiting');
  terminal.write('a');
  terminal.write('b');
  terminal.status('still here');
  terminal.err('remark');
  terminal.writeErr('thought');
  terminal.write('c\n');
  terminal.endLine();
  terminal.write('d');
  terminal.out('line');
  expect(stdout.text()).toBe('ab\nc\nd\nline\n');
  expect(stderr.text()).toBe('waiting\r\u001B[Kremark\nthought\n');
});

test('text in a file is not cut by terminal output', () => {
  const [stdout, stderr] = [stream(false), stream(true)];
  const terminal = createTerminal(stdout, stderr);
  terminal.write('a');
  terminal.status('two words');
  terminal.write('b');
  terminal.err('remark');
  terminal.writeErr('thought');
  terminal.write('c');
  terminal.endLine();
  terminal.endLine();
  expect(stdout.text()).toBe('abc\n');
  expect(stderr.text()).toBe('two words\r\u001B[Kremark\nthought\n');
});
