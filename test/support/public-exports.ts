/** The names that the package exports, each with the docstring of its declaration; and the examples in those docstrings.
 *  It must not know what a docstring has to say: it only finds it. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Comment, parseSync, type Program } from 'oxc-parser';

export interface PublicExport {
  /** The entry point, as `./client`. */
  readonly entry: string;
  readonly name: string;
  /** File of the declaration. */
  readonly file: string;
  /** Text of the docstring without stars; null: there is none. */
  readonly doc: string | null;
  /** Docstrings of an interface's members by their names. */
  readonly members: ReadonlyMap<string, string | null>;
}

type Declaration = Pick<PublicExport, 'doc' | 'members'>;

/** Name in another module, which `from` leads to. */
interface Elsewhere {
  readonly from: string;
  readonly name: string;
}

interface Module {
  readonly declared: ReadonlyMap<string, Declaration>;
  readonly imported: ReadonlyMap<string, Elsewhere>;
  readonly exported: ReadonlyMap<string, Elsewhere | string>;
  readonly exportsAllOf: readonly string[];
}

/** Every name of every entry point; a name that several entry points export is in the list once for each. */
export function publicExports(): PublicExport[] {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, object | string>;
  };
  const entries = Object.entries(exports).flatMap(([entry, target]) => {
    const source = (target as { 'adjutant-source'?: string })['adjutant-source'];
    return source === undefined ? [] : filesOf(source).map((file) => ({ entry, file }));
  });
  return entries.flatMap(({ entry, file }) =>
    namesOf(file).map((name) => ({ entry, name, ...declarationOf(file, name) })),
  );
}

/** Code of each `@example`, without repeats. */
export function examplesOf(all: readonly PublicExport[]): string[] {
  const blocks = all.flatMap(({ doc }) => [...(doc ?? '').matchAll(/@example\n```ts\n([\s\S]*?)\n```/g)]);
  return [...new Set(blocks.map(([, code = '']) => code))];
}

function filesOf(source: string): string[] {
  return source.includes('*') ? globSync(source.replace('*', '**/*')) : [source];
}

function namesOf(file: string): string[] {
  const { exported, exportsAllOf } = moduleOf(file);
  return [...exported.keys(), ...exportsAllOf.flatMap((from) => namesOf(join(dirname(file), from)))];
}

function declarationOf(file: string, name: string): Declaration & { file: string } {
  const { declared, imported, exported, exportsAllOf } = moduleOf(file);
  const target = exported.get(name);
  if (target === undefined) {
    const from = exportsAllOf
      .map((each) => join(dirname(file), each))
      .find((each) => namesOf(each).includes(name));
    if (from === undefined) throw new Error(`${file} exports no ${name}`);
    return declarationOf(from, name);
  }
  const local = typeof target === 'string' ? target : name;
  const there = typeof target === 'string' ? imported.get(target) : target;
  if (there !== undefined) return declarationOf(join(dirname(file), there.from), there.name);
  const own = declared.get(local);
  if (own === undefined) throw new Error(`${file} exports ${name}, which it does not declare`);
  return { file, ...own };
}

const modules = new Map<string, Module>();

function moduleOf(file: string): Module {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const source = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, source);
  const read = readModule(program, (start) => docBefore(source, comments, start));
  modules.set(file, read);
  return read;
}

type Statement = Program['body'][number];

function readModule({ body }: Program, docAt: (start: number) => string | null): Module {
  const declared = new Map<string, Declaration>();
  const imported = new Map<string, Elsewhere>();
  const exported = new Map<string, Elsewhere | string>();
  const exportsAllOf: string[] = [];
  for (const statement of body) {
    for (const name of declaredBy(statement)) {
      const doc = docAt(statement.start) ?? declared.get(name)?.doc ?? null;
      declared.set(name, { doc, members: membersOf(statement, docAt) });
      if (statement.type === 'ExportNamedDeclaration') exported.set(name, name);
    }
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers)
        if (specifier.type === 'ImportSpecifier')
          imported.set(specifier.local.name, {
            from: statement.source.value,
            name: nameOf(specifier.imported),
          });
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const { local, exported: outside } of statement.specifiers)
        exported.set(
          nameOf(outside),
          statement.source === null ? nameOf(local) : { from: statement.source.value, name: nameOf(local) },
        );
    } else if (statement.type === 'ExportAllDeclaration') exportsAllOf.push(statement.source.value);
  }
  return { declared, imported, exported, exportsAllOf };
}

function declaredBy(statement: Statement): string[] {
  const declaration = declarationIn(statement);
  if (declaration?.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  const { id } = (declaration ?? {}) as { id?: { name?: string } | null };
  return typeof id?.name === 'string' ? [id.name] : [];
}

function membersOf(
  statement: Statement,
  docAt: (start: number) => string | null,
): Map<string, string | null> {
  const declaration = declarationIn(statement);
  if (declaration?.type !== 'TSInterfaceDeclaration') return new Map();
  return new Map(
    declaration.body.body.flatMap((member): [string, string | null][] => {
      const { key } = member as { key?: { name?: string } };
      return typeof key?.name === 'string' ? [[key.name, docAt(member.start)]] : [];
    }),
  );
}

function declarationIn(statement: Statement) {
  return statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
}

function nameOf(name: { name: string } | { value: string }): string {
  return 'name' in name ? name.name : name.value;
}

function docBefore(source: string, comments: readonly Comment[], start: number): string | null {
  const last = comments.findLast(({ end }) => end <= start);
  if (last === undefined || !last.value.startsWith('*') || source.slice(last.end, start).trim() !== '')
    return null;
  return last.value
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim();
}
