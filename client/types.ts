/** Declarations of a module and of everything that they name, in one text without an import.
 *  A type that is inferred from a schema is written out: readers of the types do not need the schema's library. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ts } from '@ts-morph/common';

type Declaration = ts.Declaration & ts.Statement;

const LIBRARY = '/node_modules/';
const SCHEMAS = '/node_modules/zod/';
const EXPANDED = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

/** Folder of the compiler's own declarations, such as `lib.es5.d.ts`, which belong to the package of its program. */
const PLATFORM = join(
  dirname(
    createRequire(createRequire(import.meta.url).resolve('typescript/package.json')).resolve(
      `@typescript/typescript-${process.platform}-${process.arch}/package.json`,
    ),
  ),
  'lib',
);

/** The declarations of `entry`, a file of declarations. Throws when a name cannot be without its import. */
export function bundleTypes(entry: string): string {
  const host = ts.createCompilerHost(OPTIONS);
  host.getDefaultLibLocation = () => PLATFORM;
  const program = ts.createProgram([entry], OPTIONS, host);
  const checker = program.getTypeChecker();
  const elsewhere = program
    .getSourceFiles()
    .find((file) => program.isSourceFileDefaultLibrary(file)) as ts.Node;
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry) as ts.Node);
  if (module === undefined) throw new Error(`${entry} exports nothing.`);
  const exported = new Map<ts.Symbol, string>();
  for (const symbol of checker.getExportsOfModule(module)) {
    const target = declared(checker, symbol);
    // A declaration with two names is exported under the other one, too.
    if (symbol.name !== target.name || !exported.has(target)) exported.set(target, symbol.name);
  }
  const found = new Map<string, ts.Symbol>();
  const texts: string[] = [];
  const todo = [...exported.keys()];
  for (let symbol = todo.shift(); symbol !== undefined; symbol = todo.shift()) {
    if (found.get(symbol.name) === symbol) continue;
    if (found.has(symbol.name)) throw new Error(`Two declarations have the name ${symbol.name}.`);
    found.set(symbol.name, symbol);
    for (const declaration of statementsOf(symbol)) {
      const named = namesIn(checker, declaration);
      const isInferred = named.some((each) => isOf(each, SCHEMAS));
      texts.push(textOf(checker, declaration, { isInferred, isExported: exported.has(symbol), elsewhere }));
      if (!isInferred) todo.push(...named);
    }
  }
  const renamed = [...exported].filter(([symbol, name]) => name !== symbol.name);
  const names = renamed.map(([symbol, name]) => `${symbol.name} as ${name}`);
  return `${texts.join('\n')}\nexport type {${names.join(', ')}};\n`;
}

/** The symbol behind an import or an export. */
function declared(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function statementsOf(symbol: ts.Symbol): Declaration[] {
  const all = (symbol.declarations ?? []).map((each) =>
    ts.isVariableDeclaration(each) ? each.parent.parent : each,
  );
  return [...new Set(all)].filter((each) => ts.isStatement(each)) as unknown as Declaration[];
}

/** Symbols of the program and of the schemas' library that a declaration names; those of the platform are everywhere. */
function namesIn(checker: ts.TypeChecker, declaration: ts.Node): ts.Symbol[] {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportTypeNode(node)) throw new Error(`An import is written in a type: ${node.getText()}`);
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      const target = symbol && declared(checker, symbol);
      if (target !== undefined && isTop(target)) found.add(target);
    }
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return [...found];
}

function isTop(symbol: ts.Symbol): boolean {
  if (isOf(symbol, SCHEMAS)) return true;
  return statementsOf(symbol).some(
    (each) => ts.isSourceFile(each.parent) && !each.getSourceFile().fileName.includes(LIBRARY),
  );
}

function isOf(symbol: ts.Symbol, folder: string): boolean {
  return (symbol.declarations ?? []).some((each) => each.getSourceFile().fileName.includes(folder));
}

function textOf(
  checker: ts.TypeChecker,
  declaration: Declaration,
  options: { isInferred: boolean; isExported: boolean; elsewhere: ts.Node },
): string {
  const { isInferred, isExported, elsewhere } = options;
  const source = declaration.getSourceFile().text;
  const docs = ts
    .getJSDocCommentsAndTags(declaration)
    .filter((each) => ts.isJSDoc(each))
    .map((each) => source.slice(each.pos, each.end));
  const bare = isInferred ? writtenOut(checker, declaration, elsewhere) : declaration.getText();
  const text = bare.replace(/^(?:export )?(?:declare )?/, '');
  return [...docs, `${isExported ? 'export ' : ''}declare ${text}`].join('\n');
}

/** `elsewhere`: a file that imports nothing, in which no alias of the schemas' library can be named. */
function writtenOut(checker: ts.TypeChecker, declaration: Declaration, elsewhere: ts.Node): string {
  if (!ts.isTypeAliasDeclaration(declaration) || declaration.typeParameters !== undefined)
    throw new Error(`${declaration.getText().slice(0, 80)} depends on a schema, and is no plain type.`);
  const type = checker.typeToString(checker.getTypeFromTypeNode(declaration.type), elsewhere, EXPANDED);
  return `type ${declaration.name.text} = ${type};`;
}
