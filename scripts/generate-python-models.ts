// Writes the models of the Python client from the contract's JSON Schemas, with a generator that it installs beside the packages of the tests.
// Must never write bounds of a value: the service checks what it gets, and an old client reads what a newer service writes.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MODELS_FILE, modelsDigest, modelsSchema } from './python-models.ts';
import { pythonOfTests } from '../test/support/python.ts';

const GENERATOR = 'datamodel-code-generator==0.89.0';
const OPTIONS = [
  '--input-file-type=jsonschema',
  '--output-model-type=pydantic_v2.BaseModel',
  '--target-python-version=3.10',
  '--base-class=adjutant_client.model.Model',
  '--use-type-alias',
  '--use-title-as-name',
  '--use-annotated',
  '--use-union-operator',
  '--use-standard-collections',
  '--use-one-literal-as-default',
  '--enum-field-as-literal=all',
  '--use-field-description',
  '--disable-timestamp',
  '--formatters=builtin',
];

const python = await pythonOfTests([GENERATOR]);
if (python === null) throw new Error('The generator needs python3 of version 3.10 or newer, with venv.');
const folder = await mkdtemp(join(tmpdir(), 'adjutant-python-'));
const [input, output] = [join(folder, 'schema.json'), join(folder, 'models.py')];
await writeFile(input, JSON.stringify(modelsSchema()));
const head = `# Generated from the JSON Schemas of the contract by scripts/generate-python-models.ts. Schemas: ${modelsDigest()}`;
const given = ['--input', input, '--output', output, `--custom-file-header=${head}`, ...OPTIONS];
await promisify(execFile)(python, ['-m', 'datamodel_code_generator', ...given]);
await writeFile(MODELS_FILE, finished(await readFile(output, 'utf8')));
await rm(folder, { recursive: true });

/** Without the type of the document itself; forms of later versions are tried last. */
function finished(text: string): string {
  return text
    .replace(/^ModelModel = .*\n\n\n/m, '\n')
    .replaceAll(/Field\(title='(Signal|WebhookEvent)'\)/g, "Field(title='$1', union_mode='left_to_right')");
}
