/** The findings about a Redis, from its facts, and about models, from the configuration.
 *  It must not connect to anything: the integration test does. */
import { examineBudgets } from '../../../../src/cli/doctor/start-check.ts';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/config.ts';
import { encryptionFindings } from '../../../../src/cli/doctor/encryption.ts';
import { redisFindings } from '../../../../src/cli/doctor/diagnosis.ts';
import { examineModels } from '../../../../src/cli/doctor/keys.ts';
import type { RedisFacts } from '../../../../src/platform/redis/fitness.ts';

const good: RedisFacts = {
  version: '7.2.4',
  evictionPolicy: 'noeviction',
  appendOnly: true,
  appendFsync: 'everysec',
  mode: 'standalone',
};

test.each([
  [{}, []],
  [{ version: '6.2.14' }, ['redis']],
  [{ version: '10.0.0' }, []],
  [{ version: 'unknown' }, []],
  [{ evictionPolicy: 'volatile-lru' }, ['eviction']],
  [{ evictionPolicy: 'unknown' }, []],
  [{ appendOnly: false }, ['persistence']],
  [{ appendFsync: 'no' }, ['persistence']],
  [{ appendFsync: null }, []],
  [
    { version: '5.0.3', evictionPolicy: 'allkeys-lru', appendOnly: false },
    ['redis', 'eviction', 'persistence'],
  ],
] satisfies [Partial<RedisFacts>, string[]][])('a Redis with %j has the faults %j', (facts, expected) => {
  const findings = redisFindings({ ...good, ...facts }, 1);
  expect(findings.map(({ subject }) => subject)).toEqual(['redis', 'eviction', 'persistence']);
  expect(findings.filter(({ ok }) => !ok).map(({ subject }) => subject)).toEqual(expected);
  for (const { ok, fix } of findings) expect(fix === null).toBe(ok);
});

describe('models', () => {
  const KEY = 'sk-hunter2-hunter2';

  function findings(raw: object, environment: Record<string, string> = {}) {
    return examineModels(parseConfig(raw, { source: 'test', directory: '/', environment }));
  }

  test('without any provider are no fault, and the finding names the variables that would enable some', () => {
    expect(findings({})).toEqual([
      { subject: 'models', ok: true, says: expect.any(String) as string, fix: null },
    ]);
    expect(findings({})[0]?.says).toContain('Set ANTHROPIC_API_KEY, or set OPENAI_API_KEY');
  });

  test('of a provider with its key name the variable of the key, never the key', () => {
    const found = findings({}, { ANTHROPIC_API_KEY: KEY });
    expect(found).toMatchObject([{ subject: 'model provider anthropic', ok: true }]);
    expect(found[0]?.says).toBe('anthropic, key in ANTHROPIC_API_KEY; lane llm.anthropic');
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  test('of a configured provider without its key are a fault that names the variable', () => {
    const raw = { providers: { eu: { type: 'openai', api_key_env: 'EU_KEY' }, off: { type: 'scripted' } } };
    expect(findings(raw)).toMatchObject([
      { subject: 'model provider eu', ok: false, fix: 'Set EU_KEY, or take providers.eu out.' },
      { subject: 'model provider off', ok: true, says: expect.stringContaining('without a model') as string },
    ]);
  });

  test('of an alias that no provider can answer are a fault; other aliases are not', () => {
    const local = { type: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1' };
    const models = { fast: ['openai:a', 'local:b'], capable: ['openai:a', 'google:b'] };
    expect(findings({ providers: { local }, models })).toMatchObject([
      { subject: 'model provider local', ok: true },
      {
        subject: 'alias capable',
        ok: false,
        fix: 'Set OPENAI_API_KEY, or set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY.',
      },
    ]);
  });
});

test('a budget below a cent a day is advice, with what was probably meant', () => {
  const rule = (money?: number) => ({ on_breach: 'stop' as const, money_per_day: money });
  const rules = new Map([
    ['small', rule(5)],
    ['right', rule(5_000_000)],
    ['counted', rule()],
  ]);
  expect(examineBudgets({ budgets: { time_zone: 'UTC', rules } })).toEqual([
    {
      subject: 'budget small',
      ok: true,
      says: 'money_per_day 5 is 0.000005 USD a day',
      fix: 'It counts millionths of a US dollar: for 5 USD a day write 5000000.',
    },
  ]);
});

test.each<[object, boolean, RegExp | null]>([
  [{}, false, null],
  [{ encryption: {} }, false, /^1 key in ADJUTANT_ENCRYPTION_KEYS$/],
  [
    { encryption: { keys_env: 'OTHER' } },
    false,
    /^OTHER is not set: an API needs none, an engine opens no encrypted run/,
  ],
  [
    { encryption: { required: ['acme', 'globex'] } },
    false,
    /; what acme, globex submits in clear is refused$/,
  ],
  [{ encryption: { required: true } }, false, /; what anybody submits in clear is refused$/],
  [
    { encryption: { required: true, keys_env: 'OTHER' }, agents: { a: {} } },
    true,
    /so this engine runs no agent$/,
  ],
])('of the encryption of %j it says who must encrypt, and no key', (raw, hasAdvice, says) => {
  const key = 'ab'.repeat(32);
  const environment = { ADJUTANT_ENCRYPTION_KEYS: `k1=${key}` };
  const config = parseConfig(raw, { source: 'test', directory: '/', environment });
  const [finding] = encryptionFindings(config);
  if (says === null) return expect(finding).toBeUndefined();
  expect(finding).toMatchObject({ ok: true, says: expect.stringMatching(says) as string });
  expect([finding?.fix !== null, JSON.stringify(finding).includes(key)]).toEqual([hasAdvice, false]);
});
