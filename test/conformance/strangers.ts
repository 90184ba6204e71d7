/** Clients that nobody here has written, each against a service of its own.
 *  It must never call a client tested that cannot be installed here: it says what is missing. */
import { fileURLToPath } from 'node:url';
import { hostSteps } from './host-scenes.ts';
import { mcpRemoteSteps } from './authorization.ts';
import { inspectorSteps } from './inspector.ts';
import { type Pinned, pinnedPackages, pinnedPython } from './pinned.ts';
import type { Step } from './steps.ts';

interface Stranger {
  readonly name: string;
  readonly pinned: Pinned;
  readonly steps: (path: string) => Promise<Step[]>;
}

const hostFile = (name: string): string => fileURLToPath(new URL(`./hosts/${name}`, import.meta.url));

async function strangers(): Promise<readonly Stranger[]> {
  const { inspector, aiSdk, mcpRemote } = await pinnedPackages();
  const python = await pinnedPython();
  const pythonHost = (mode: string) => async (path: string) =>
    hostSteps([path, hostFile('python_host.py'), mode]);
  return [
    { name: 'mcp-remote', pinned: mcpRemote, steps: mcpRemoteSteps },
    { name: 'the inspector', pinned: inspector, steps: inspectorSteps },
    {
      name: 'the AI SDK',
      pinned: aiSdk,
      steps: async (path) => hostSteps([process.execPath, hostFile('ai-sdk-host.mjs'), path]),
    },
    { name: 'Python, stateless', pinned: python, steps: pythonHost('auto') },
    { name: 'Python, older protocol', pinned: python, steps: pythonHost('legacy') },
  ];
}

/** Resolves with what has to be looked at. */
export async function withStrangers(print: (line: string) => void): Promise<string[]> {
  const failures: string[] = [];
  for (const { name, pinned, steps } of await strangers()) {
    print(`\nAdjutant as a server of ${name}`);
    if (pinned.kind === 'missing') {
      print(`SKIPPED  ${pinned.why}`);
      continue;
    }
    for (const { name: step, failure } of await steps(pinned.path)) {
      print(
        `${failure === null ? 'passed' : 'NOT PASSED'}  ${step}${failure === null ? '' : `: ${failure}`}`,
      );
      if (failure !== null) failures.push(`${name}: ${step}`);
    }
  }
  return failures;
}
