/** The package @adjutant/client from `src/client`: code and types that import nothing from another package.
 *  Reads the declarations in `dist`, so the service is built first. Throws when a part cannot be without an import. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ts } from '@ts-morph/common';
import { parseSync } from 'oxc-parser';
import { rolldown } from 'rolldown';
import { LICENSES, licensesOf } from '../scripts/licenses.ts';
import { bundleTypes } from './types.ts';

const ROOT = resolve(import.meta.dirname, '..');
const TARGET = join(import.meta.dirname, 'dist');
/** Entry points and the modules behind them: the client, the client with encryption, and the client of a program's own runs. */
const ENTRIES = {
  client: 'client/plain-client',
  encryption: 'client/http-client',
  runs: 'client/run-client',
} as const;

/** Files beside the client, which they import: an application without React or the AI SDK loads nothing of them. */
const BESIDE = ['react', 'ai-sdk', 'message-chunks'];

/** Writes `client/dist`. */
export async function buildClient(): Promise<void> {
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  await bundleCode();
  for (const [name, module] of Object.entries(ENTRIES))
    writeFileSync(join(TARGET, `${name}.d.ts`), bundleTypes(join(ROOT, 'dist', `${module}.d.ts`)));
  for (const name of BESIDE) writeBeside(name);
  cpSync(join(ROOT, 'LICENSE'), join(import.meta.dirname, 'LICENSE'));
}

function writeBeside(name: string): void {
  const source = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8');
  const place = (text: string): string =>
    text
      .replace('../src/client/plain-client.ts', './client.js')
      .replaceAll(/'\.\/([\w-]+)\.ts'/g, "'./$1.js'")
      .replace(/^\/\/# sourceMappingURL.*$/m, '');
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const code = ts.transpileModule(source, { compilerOptions }).outputText;
  const types = ts.transpileDeclaration(source, { compilerOptions }).outputText;
  writeFileSync(join(TARGET, `${name}.js`), place(code));
  writeFileSync(join(TARGET, `${name}.d.ts`), place(types));
}

/** Values whose making a bundler knows to be free of effects. */
const SIMPLE = /^(?:Literal|TemplateLiteral|ArrowFunctionExpression|FunctionExpression)$/;

/** Marks the making of each schema as free of effects, so that schemas that the client does not check with are left out. */
const withoutUnusedSchemas = {
  name: 'without-unused-schemas',
  transform: {
    filter: { id: /\/src\/.*\.ts$/ },
    handler(code: string, id: string): string {
      const made = parseSync(id, code).program.body.flatMap((statement) => {
        const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
        if (declaration?.type !== 'VariableDeclaration') return [];
        return declaration.declarations.flatMap(({ init }) =>
          init && !SIMPLE.test(init.type) ? [init] : [],
        );
      });
      return made.reduceRight(
        (text, { start, end }) =>
          `${text.slice(0, start)}/* @__PURE__ */ (() => (${text.slice(start, end)}))()${text.slice(end)}`,
        code,
      );
    },
  },
};

/** Operations without a method of the client. */
const OF_OTHERS =
  /^ {2}(?:takeWork|holdWork|endWork|readSession|signIn|signOut|health|readiness|metrics|openapi): \{.*\},$/gm;

/** Takes out of the table of routes the rows and the members that only the service reads. */
const withoutScopes = {
  name: 'without-scopes',
  transform: {
    filter: { id: /\/contract\/operations\/routes\.ts$/ },
    handler: (code: string): string =>
      code
        .replaceAll(OF_OTHERS, '')
        .replaceAll(/\b(?:(?:scope|also): '[a-z]+'|(?:ofTenant|forOperators): true),?/g, ''),
  },
};

async function bundleCode(): Promise<void> {
  const modules = Object.entries(ENTRIES).map(([name, module]) => [name, join(ROOT, 'src', `${module}.ts`)]);
  const bundle = await rolldown({
    input: Object.fromEntries(modules),
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'] },
    treeshake: { moduleSideEffects: false },
    plugins: [withoutScopes, withoutUnusedSchemas],
    logLevel: 'silent',
  });
  const options = { entryFileNames: '[name].js', chunkFileNames: 'shared.js', minify: true } as const;
  const { output } = await bundle.write({ dir: TARGET, format: 'esm', ...options });
  await bundle.close();
  const used = output.flatMap((file) =>
    file.type === 'chunk'
      ? Object.entries(file.modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []))
      : [],
  );
  writeFileSync(join(TARGET, LICENSES), licensesOf(used));
  const files = new Set(output.map(({ fileName }) => fileName));
  const foreign = output.flatMap((file) =>
    file.type === 'chunk' ? [...file.imports, ...file.dynamicImports].filter((name) => !files.has(name)) : [],
  );
  if (foreign.length > 0) throw new Error(`The client would import ${foreign.join(', ')}.`);
}

if (import.meta.main) await buildClient();
