/** The command line of the MCP inspector against `/mcp`, `adjutant mcp` and `adjutant directive-server`.
 *  It must never compare anything but what the inspector prints. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { PROGRAM } from '../support/program.ts';
import { startFixtureService } from './fixture-service.ts';
import { type Step, stepOf } from './steps.ts';

const DESCRIPTORS = new URL('../support/directive-tools.json', import.meta.url);
const PROCEDURE = 'directive/reference/agent_operating_procedure.md';

interface Tool {
  readonly name: string;
}

/** Asks the inspector for a method of a server; resolves with the result that it prints. */
type Ask = (server: string, method: string, ...more: readonly string[]) => Promise<unknown>;

/** `inspector`: its command. */
export async function inspectorSteps(inspector: string): Promise<Step[]> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-inspector-'));
  try {
    await using service = await startFixtureService();
    await adjutant(['init', '--directive'], folder);
    const api = new URL(service.url).origin;
    await writeFile(join(folder, 'mcp.json'), JSON.stringify(configuration(api, folder)));
    const ask: Ask = async (server, method, ...more) => {
      const args = ['--cli', '--config', join(folder, 'mcp.json'), '--server', server, '--method', method];
      const { stdout } = await promisify(execFile)(inspector, [...args, ...more]);
      return JSON.parse(stdout) as unknown;
    };
    return [
      await stepOf('lists and calls the tools of /mcp', async () => callsAndLists(ask, 'http')),
      await stepOf('lists and calls the tools of adjutant mcp', async () => callsAndLists(ask, 'stdio')),
      await stepOf('lists and calls the tools of adjutant directive-server', async () => directiveTools(ask)),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function configuration(api: string, folder: string): object {
  const ours = (...args: readonly string[]) => ({
    type: 'stdio',
    command: process.execPath,
    args: ['--conditions=adjutant-source', PROGRAM, ...args],
    cwd: folder,
  });
  return {
    mcpServers: {
      http: { type: 'streamable-http', url: `${api}/mcp` },
      stdio: { ...ours('mcp'), env: { ADJUTANT_URL: api } },
      directive: ours('directive-server', '--root', folder),
    },
  };
}

async function callsAndLists(ask: Ask, server: string): Promise<void> {
  const { tools } = (await ask(server, 'tools/list')) as { tools: readonly Tool[] };
  const names = tools.map(({ name }) => name);
  if (!names.includes('fixture__greet')) throw new Error(`fixture__greet is not listed: ${names.join(' ')}`);
  const said = await ask(server, 'tools/call', '--tool-name', 'fixture__greet', '--tool-arg', 'name=Ada');
  expectText(said, 'Hello, Ada!');
}

/** The descriptors, whose members the inspector orders anew; then each of the five tools. */
async function directiveTools(ask: Ask): Promise<void> {
  const { tools } = JSON.parse(await readFile(DESCRIPTORS, 'utf8')) as { tools: readonly Tool[] };
  const listed = (await ask('directive', 'tools/list')) as { tools: readonly Tool[] };
  if (!isDeepStrictEqual(listed.tools, tools))
    throw new Error(`other descriptors: ${JSON.stringify(listed.tools)}`);
  for (const { name } of tools) {
    const args = name.endsWith('file.get') ? ['--tool-arg', `path=${PROCEDURE}`] : [];
    expectText(await ask('directive', 'tools/call', '--tool-name', name, ...args), PROCEDURE);
  }
}

function expectText(result: unknown, text: string): void {
  const { content, isError = false } = result as { content: readonly { text: string }[]; isError?: boolean };
  if (isError || content[0]?.text.includes(text) !== true)
    throw new Error(`'${text}' is not in ${JSON.stringify(result).slice(0, 300)}`);
}

async function adjutant(args: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)(process.execPath, ['--conditions=adjutant-source', PROGRAM, ...args], { cwd });
}
