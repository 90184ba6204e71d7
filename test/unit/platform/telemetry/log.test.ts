/** What a line of the log holds and looks like.
 *  It must not depend on a terminal. */
import { describe, expect, test } from 'vitest';
import { logOn } from '../../../../src/platform/telemetry/log.ts';

function logged(isText: boolean, hasColours = false) {
  const lines: string[] = [];
  const logger = logOn({ write: (text) => lines.push(text) }, { level: 'info', isText, hasColours });
  return { logger, lines };
}

describe('a line for programs', () => {
  test('is one JSON object with the level as a word and the time as an instant', () => {
    const { logger, lines } = logged(false);
    logger.warn({ request_id: 'r' }, 'said');
    expect(JSON.parse(lines.join(''))).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      request_id: 'r',
      msg: 'said',
    });
    expect(lines.join('')).toMatch(/^[^\n]*\n$/);
  });

  test('shows no secret: neither under a key of one, nor as the password of an address', () => {
    const { logger, lines } = logged(false);
    const nested = { server: { headers: { Authorization: 'Bearer hunter2' } } };
    logger.warn({ apiKey: 'hunter2', nested }, 'cannot reach redis://user:hunter2@example.test:6379/0');
    logger.warn({ path: '/v1/keys/adj_0123456789ab_hunter2-x_y' }, 'adj_0123456789ab_hunter2');
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines[1]).toMatch(/"\/v1\/keys\/adj_0123456789ab_\[REDACTED\]".*"adj_0123456789ab_\[REDACTED\]"/);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      apiKey: '[REDACTED]',
      msg: 'cannot reach redis://[REDACTED]@example.test:6379/0',
    });
  });

  test('has what a terminal obeys as an escape, and keeps its value', () => {
    const { logger, lines } = logged(false);
    const hostile = 'a\u001B[2J\u009B2J\u007F\u202Eb';
    logger.warn({ hostile }, hostile);
    // oxlint-disable-next-line no-control-regex
    expect(lines.join('')).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
    expect(JSON.parse(lines.join(''))).toMatchObject({ hostile, msg: hostile });
  });

  test('is bounded, whatever is logged', () => {
    const { logger, lines } = logged(false);
    const circular: Record<string, unknown> = { text: 'x'.repeat(1_000_000) };
    circular['self'] = circular;
    logger.warn({ circular, many: Array.from({ length: 10_000 }, () => 'y'.repeat(10_000)) }, 'big');
    expect(lines.join('').length).toBeLessThan(200_000);
  });

  test('shows an error with its stack, under any name', () => {
    const { logger, lines } = logged(false);
    logger.error({ err: new TypeError('broke') }, 'a');
    logger.error({ error: new TypeError('broke') }, 'b');
    const fields = { type: 'TypeError', message: 'broke', stack: expect.stringContaining('log.test') };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { err: fields },
      { error: fields },
    ]);
  });
});

describe('a line for people', () => {
  test('is the time, the level, the message, then the fields', () => {
    const { logger, lines } = logged(true);
    logger.warn({ request_id: 'r', text: 'two words', list: [1] }, 'said');
    expect(lines.join('')).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}said {2}request_id=r text="two words" list=\[1\]\n$/,
    );
  });

  test('obeys nothing that comes from outside, and stays one line', () => {
    const { logger, lines } = logged(true, true);
    logger.info(
      { 'k\u001B[31m': 'v\n\u001B]0;title\u0007', u: 'redis://u:hunter2@h' },
      'm\n12:00:00.000 ERROR forged',
    );
    // Our own colours are all that is left.
    // oxlint-disable-next-line no-control-regex
    const plain = lines.join('').replaceAll(/\u001B\[\d+m/g, '');
    // oxlint-disable-next-line no-control-regex
    expect(plain).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
    expect(plain.trimEnd()).not.toContain('\n');
    expect(plain).not.toContain('hunter2');
  });

  test('has the stack of an error below it', () => {
    const { logger, lines } = logged(true);
    logger.error({ err: new TypeError('broke') }, 'a');
    expect(lines.join('')).toMatch(/ERROR a {2}err=.*"broke".*\n {4}TypeError: broke\n {8}at /);
  });
});
