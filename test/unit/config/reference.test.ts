// The published texts about the configuration: the table of docs/configuration.md, and the JSON Schema for editors.
// Must never be fixed by hand: both are generated.
import { globSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { configurationPage } from '../../../scripts/configuration-page.ts';
import { configurationSchemaFile } from '../../../scripts/configuration-schema.ts';
import { rowsOf } from '../../support/documents.ts';
import { parse } from '../../support/parsed-config.ts';

const PAGE = 'docs/configuration.md';
const [name, text] = configurationSchemaFile();

test('the page is generated from the schemas', () => {
  const page = readFileSync(PAGE, 'utf8');
  expect(configurationPage(page) === page, 'run node scripts/generate-configuration.ts').toBe(true);
});

test('every key has a meaning', () => {
  const rows = rowsOf(PAGE).filter(({ cells }) => cells.length === 5);
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter(({ cells }) => cells[1] === '' || cells[4] === '').map(({ cells }) => cells[0])).toEqual(
    [],
  );
});

test('the published schema is generated from the code', () => {
  expect(readFileSync(`schemas/${name}`, 'utf8')).toBe(text);
});

const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
(addFormats as unknown as (target: unknown) => void)(ajv);
const accepts = ajv.compile(JSON.parse(text));

test.each([
  [{ providers: { anthropic: {} } }, true],
  [{ providers: { mine: { type: 'anthropic' } } }, true],
  [{ providers: { mine: {} } }, false],
  [{ providers: { openai: { api: 'chat' } } }, true],
  [{ providers: { anthropic: { api: 'chat' } } }, false],
  [{ providers: { anthropic: { type: 'openai', api: 'chat' } } }, true],
  [{ mcpServers: { a: { command: 'node', uid: 1, gid: 1 } } }, true],
  [{ mcpServers: { a: { command: 'node', uid: 1 } } }, false],
  [{ mcpServers: { a: { command: 'node', gid: 1 } } }, false],
])('the published schema and the loader agree: %j is valid: %s', (file, isValid) => {
  expect(accepts(file)).toBe(isValid);
  const load = (): unknown => parse(file);
  if (isValid) expect(load).not.toThrow();
  else expect(load).toThrow();
});

test('the published schema accepts the files of the clone, and no unknown key', () => {
  for (const file of ['adjutant.json', ...globSync('examples/*/adjutant.json')]) {
    expect(
      accepts(JSON.parse(readFileSync(file, 'utf8'))),
      `${file}: ${ajv.errorsText(accepts.errors)}`,
    ).toBe(true);
  }
  expect(accepts({ mcpServer: {} })).toBe(false);
  expect(accepts({ mcpServers: { a: { command: 'node', lane: { concurency: 1 } } } })).toBe(false);
  expect(accepts({ providers: { anthropic: { price: 1 } } })).toBe(false);
});
