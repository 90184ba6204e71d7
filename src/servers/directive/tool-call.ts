/** One call of a tool: from its name and arguments to its payload, or the reason why not.
 *  It must never throw for what a client may send. */
import { bundleOf, type Template } from './bundle.ts';
import type { DirectiveFolder } from './directive-folder.ts';
import { done, type Outcome, refused, serverFault, unknownTool } from './refusal.ts';
import { toolCalled } from './tool-descriptors.ts';

/** JSON: its keys and their order are the contract's. */
export type Payload = object;

export type Arguments = Readonly<Record<string, unknown>>;

type Call = (folder: DirectiveFolder, args: Arguments) => Promise<Outcome<Payload>>;

const CALLS: Readonly<Record<string, Call>> = {
  'directive/files.list': listFiles,
  'directive/file.get': getFile,
  'directive/spec.template': bundleCall('spec_template.md'),
  'directive/impact.template': bundleCall('impact_template.md'),
  'directive/tdr.template': bundleCall('tdr_template.md'),
};

/** Unknown arguments are ignored, as other servers of these tools do. */
export async function callTool(
  folder: DirectiveFolder,
  name: string,
  args: Arguments,
): Promise<Outcome<Payload>> {
  const call = CALLS[toolCalled(name) ?? ''];
  return call === undefined ? refused(unknownTool(name)) : call(folder, args);
}

async function listFiles(folder: DirectiveFolder): Promise<Outcome<Payload>> {
  const listed = await folder.list();
  return listed.ok ? done({ files: listed.value }) : listed;
}

async function getFile(folder: DirectiveFolder, { path }: Arguments): Promise<Outcome<Payload>> {
  if (typeof path !== 'string') return refused(serverFault('path must be a string', 'path'));
  const read = await folder.read(path);
  return read.ok ? done({ path, content: read.value }) : read;
}

function bundleCall(template: Template): Call {
  return async (folder) => bundleOf(folder, template);
}
