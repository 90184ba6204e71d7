// docker-compose.yml, unchanged, as a running project of podman-compose under a name of its own.
// Must never touch a container of another project.
import { must, run } from './commands.ts';

export interface Container {
  readonly name: string;
  readonly service: string;
  readonly id: string;
}

interface Listed {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

export interface State {
  readonly pid: number;
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly restarts: number;
}

export interface Composition {
  compose(...args: string[]): void;
  containers(service?: string): Container[];
  stateOf(container: Container): State;
  /** Runs it in the container; throws when it fails. */
  exec(container: Container, ...command: string[]): string;
  /** Runs the health check that image or file name. */
  isHealthy(container: Container): boolean;
  logsOf(container: Container): string;
  restart(container: Container): void;
  stop(container: Container): void;
  remove(): void;
}

export function composition(project: string): Composition {
  const ofProject = ['--filter', `label=io.podman.compose.project=${project}`];

  function containers(service?: string): Container[] {
    const listed = JSON.parse(must('podman', ['ps', '--all', '--format', 'json', ...ofProject])) as Listed[];
    return listed
      .map(({ Id: id, Names: [name = ''], Labels: labels }) => ({
        id,
        name,
        service: labels['com.docker.compose.service'] ?? '',
      }))
      .filter((each) => service === undefined || each.service === service)
      .toSorted((left, right) => left.name.localeCompare(right.name));
  }

  return {
    compose: (...args) => void must('podman-compose', ['--project-name', project, ...args]),
    containers,
    stateOf({ id }) {
      const format = '{{.State.Pid}} {{.State.Running}} {{.State.ExitCode}} {{.RestartCount}}';
      const [pid, running, code, restarts] = must('podman', ['inspect', '--format', format, id])
        .trim()
        .split(' ');
      return {
        pid: Number(pid),
        isRunning: running === 'true',
        exitCode: Number(code),
        restarts: Number(restarts),
      };
    },
    exec: ({ id }, ...command) => must('podman', ['exec', id, ...command]),
    isHealthy: ({ id }) => run('podman', ['healthcheck', 'run', id]).code === 0,
    logsOf: ({ id }) => run('podman', ['logs', '--tail', '20', id]).output,
    restart: ({ id }) => void must('podman', ['restart', id]),
    stop: ({ id }) => void must('podman', ['stop', id]),
    remove() {
      run('podman-compose', ['--project-name', project, 'down', '--volumes']);
      // What was scaled up is not known to `down`.
      for (const { id } of containers()) run('podman', ['rm', '--force', '--time', '5', id]);
      for (const volume of ['redis-data', 'prometheus-data'])
        run('podman', ['volume', 'rm', '--force', `${project}_${volume}`]);
      run('podman', ['network', 'rm', '--force', `${project}_default`]);
    },
  };
}
