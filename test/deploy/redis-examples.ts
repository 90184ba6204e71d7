// The examples with Sentinel and with a Redis Cluster, run for real: a call, the loss of the primary, another call.
// Must never bring the lost server back before the call: what takes over has to answer.
import type { Composition, Container } from './composition.ts';
import { demand, print, type Report } from './report.ts';
import { callsTool, until, untilReady } from './service-calls.ts';

interface Example {
  readonly name: string;
  /** What its services have instead of one Redis. */
  readonly servers: string;
  /** The container whose loss needs a failover. */
  primary(project: Composition): Container | Promise<Container>;
}

const SENTINEL: Example = {
  name: 'redis-sentinel',
  servers: 'a primary, a replica, three sentinels',
  primary: (project) => project.containers('redis')[0] as Container,
};

const CLUSTER: Example = {
  name: 'redis-cluster',
  servers: 'three masters, three replicas',
  primary: masterOfRequest,
};

/** A project that is not started yet; the one before is removed. */
type Open = (name: string, files: readonly string[]) => Composition;

export async function redisExamples(report: Report, open: Open): Promise<void> {
  for (const example of [SENTINEL, CLUSTER]) {
    const files = ['docker-compose.yml', `deploy/${example.name}/docker-compose.yml`];
    const project = open(example.name, files);
    try {
      await report.check(`${example.name} (${example.servers}): a call, the loss of a primary, a call`, () =>
        survivesPrimary(project, example),
      );
    } finally {
      project.remove();
    }
  }
}

async function survivesPrimary(project: Composition, example: Example): Promise<void> {
  try {
    project.compose('up', '--detach', '--no-build');
    await untilReady();
    await callsTool('before');
    const primary = await example.primary(project);
    project.lose(primary);
    await callsTool('after');
    demand(!project.stateOf(primary).isRunning, `${primary.name} is back`);
  } catch (error) {
    for (const container of project.containers())
      print(`--- ${container.name}\n${project.logsOf(container)}`);
    throw error;
  }
}

/** All keys of a request are in one slot. */
async function masterOfRequest(project: Composition): Promise<Container> {
  const nodes = project.containers().filter(({ service }) => service.startsWith('node-'));
  const ask = (node: Container, ...command: string[]): string => project.exec(node, 'redis-cli', ...command);
  return until('the master that has the keys of the request', async () => {
    const masters = nodes.filter((node) => ask(node, 'role').startsWith('master'));
    return masters.find((node) => ask(node, '--scan', '--pattern', '*{deploy}*').trim() !== '') ?? null;
  });
}
