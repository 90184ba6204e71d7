// The published texts about the configuration: the table of docs/configuration.md, and the JSON Schema for editors.
// Must never be fixed by hand: both are generated.
import { globSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { configurationPage } from '../../../scripts/configuration-page.ts';
import { configurationSchemaFile } from '../../../scripts/configuration-schema.ts';
import { rowsOf } from '../../support/documents.ts';

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

test('the published schema accepts the files of the clone, and no unknown key', () => {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  (addFormats as unknown as (target: unknown) => void)(ajv);
  const accepts = ajv.compile(JSON.parse(text));
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
