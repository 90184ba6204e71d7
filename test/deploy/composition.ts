// docker-compose.yml and files beside it, unchanged, as a running project of podman-compose under a name of its own.
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
  /** Tolerates a container that does not run. */
  stop(container: Container): void;
  /** SIGKILL without a restart, as when its machine is lost. */
  lose(container: Container): void;
  /** Of files, between here and a container: `id:path`. It need not run. */
  copy(from: string, to: string): void;
  remove(): void;
}

/** Longer than any `stop_grace_period`: what podman-compose does not pass on. */
const GRACE = ['--time', '60'];

export function composition(project: string, files: readonly string[] = ['docker-compose.yml']): Composition {
  const command = ['--project-name', project, ...files.flatMap((file) => ['--file', file])];
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
    compose: (...args) => void must('podman-compose', [...command, ...args]),
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
    restart: ({ id }) => void must('podman', ['restart', ...GRACE, id]),
    stop: ({ id }) => void must('podman', ['stop', ...GRACE, id]),
    lose: ({ id }) => void must('podman', ['kill', id]),
    copy: (from, to) => void must('podman', ['cp', from, to]),
    remove() {
      for (const { id } of containers())
        run('podman', ['rm', '--force', '--volumes', '--depend', '--time', '5', id]);
      const volumes = run('podman', ['volume', 'ls', '--quiet', ...ofProject])
        .stdout.split('\n')
        .filter(Boolean);
      for (const volume of volumes) run('podman', ['volume', 'rm', '--force', volume]);
      run('podman', ['network', 'rm', '--force', `${project}_default`, `${project}_redis`]);
    },
  };
}
