/** Writes docs/errors.md, docs/commands.md and docs/llms.txt from the tables of the source and the pages, or with --check reports whether they are out of date.
 *  Describes no error and no verb: their definitions do. */
import { globSync, readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { ADVICE } from '../console/pages/request/advice.ts';
import { REMEDIES } from '../src/cli/explanation.ts';
import { VERBS } from '../src/cli/verbs.ts';
import { PROBLEM_CODES, problem } from '../src/contract/problem.ts';
import { generatePage, withContent } from './generated-page.ts';

const SCRIPT = 'scripts/generate-reference.ts';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`);
  return `${lines.join('\n')}\n`;
}

/** Hints name the program as it is typed on the machine that generates the page. */
function cell(text: string): string {
  return text.replaceAll('npx adjutant', 'adjutant').replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function errors(): string {
  const types = Object.entries(ADVICE).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const refusals = PROBLEM_CODES.map((code) => {
    const { status, title } = problem(code);
    return [`\`${code}\``, String(status), `${title}.`, REMEDIES[code]];
  });
  return [
    '## Errors of directives and runs\n',
    table(
      ['type', 'meaning', 'what to do'],
      types.map(([type, [meaning, todo]]) => [`\`${type}\``, meaning, todo]),
    ),
    '## Refusals\n',
    table(['code', 'status', 'meaning', 'what to do'], refusals),
  ].join('\n');
}

function commands(): string {
  return VERBS.flatMap(({ group, verbs }) => {
    const program = new Command('adjutant').option('--json').option('--url <url>');
    // No verb runs: only their definitions are read.
    const never = async (): Promise<void> => Promise.resolve();
    for (const add of verbs) add({ program, version: '', local: never, withClient: never, withKeys: never });
    return [`## ${group.replace(/:$/, '')}\n`, ...program.commands.flatMap((verb) => sections(verb, ''))];
  }).join('\n');
}

/** A verb and the verbs below it. */
function sections(command: Command, above: string): string[] {
  const path = `${above}${command.name()}`;
  const usage = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? ` <${name}>` : ` [${name}]`;
  });
  const options = command.options.filter(({ hidden }) => !hidden);
  const own = [
    `### ${path}\n`,
    `\`adjutant ${path}${usage.join('')}\`: ${cell(command.description())}.\n`,
    ...(options.length === 0 ? [] : [table(['option', 'meaning'], options.map(optionRow))]),
  ];
  const below = command.commands.flatMap((each) => sections(each, `${path} `));
  return command.description() === '' ? below : [...own, ...below];
}

function optionRow({ flags, description, argChoices, defaultValue }: Option): string[] {
  const choices =
    argChoices === undefined ? '' : ` (${argChoices.map((choice) => `\`${choice}\``).join(', ')})`;
  const isShown = defaultValue !== undefined && defaultValue !== false && !description.includes('default');
  return [`\`${flags}\``, `${description}${choices}${isShown ? `. Default: ${String(defaultValue)}` : ''}`];
}

/** Pages of the documentation with their first sentences, for models: https://llmstxt.org. */
function llms(): string {
  const [, intro = ''] = /\n\n(.+?)\n\n/s.exec(readFileSync('README.md', 'utf8')) ?? [];
  const pages = globSync('docs/*.md')
    .toSorted()
    .map((page) => {
      const text = readFileSync(page, 'utf8').replaceAll(/<!--.*?-->\n*/gs, '');
      const [, title = page, first = ''] = /^# (.+)\n+([^\n]+)/.exec(text) ?? [];
      return `- [${title}](/${page}): ${sentence(first)}`;
    });
  return [
    '# Adjutant\n',
    `> ${sentence(intro)}\n`,
    'A running service has these pages below /docs/, its OpenAPI description at /openapi.json, and an MCP server that operates it at /mcp/adjutant.\n',
    '## Documentation\n',
    `${pages.join('\n')}\n`,
  ].join('\n');
}

/** The first sentence without links and emphasis. */
function sentence(text: string): string {
  const plain = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('**', '');
  return /^.*?\.(?= |$)/.exec(plain)?.[0] ?? plain.replace(/:$/, '.');
}

for (const [page, content] of [
  ['docs/errors.md', errors()],
  ['docs/commands.md', commands()],
] as const)
  await generatePage({ page, script: SCRIPT }, (text) =>
    withContent({ page, script: SCRIPT }, text, content),
  );
await generatePage({ page: 'docs/llms.txt', script: SCRIPT }, llms);
