/** A submission again, as a command or a program to paste.
 *  It must never let a text of the submission end its quotes. */
export interface Submission {
  /** `/v1/requests` or `/v1/directives`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface CopyText {
  readonly name: string;
  readonly text: string;
}

export function copiesOf({ path, body }: Submission, origin: string): CopyText[] {
  const json = JSON.stringify(body);
  const curl = `curl -s ${shell(`${origin}${path}`)} -H 'content-type: application/json' -d ${shell(json)}`;
  const isRun = path === '/v1/requests';
  const program = [
    "import { createHttpClient } from 'adjutant/client';",
    '',
    `const client = createHttpClient({ baseUrl: ${JSON.stringify(origin)} });`,
    `const submitted = await client.${isRun ? 'runs.start' : 'submit'}(${JSON.stringify(body, null, 2)});`,
    '',
  ].join('\n');
  return [
    { name: 'curl', text: curl },
    { name: 'TypeScript', text: program },
    { name: 'CLI', text: isRun ? askCommand(body) : `printf %s ${shell(json)} | npx adjutant submit -` },
  ];
}

function askCommand({ agent, query }: Readonly<Record<string, unknown>>): string {
  return `npx adjutant ask ${shell(`${query as string}`)} --agent ${shell(`${agent as string}`)}`;
}

/** One word of a POSIX shell. */
export function shell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
