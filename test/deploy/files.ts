// Asks the programs that read the files of deploy/ whether they would take them.
// Must never start a service on a fixed port.
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { demand, type Report } from './report.ts';
import { must, programPath, run } from './commands.ts';
import { findJaeger } from '../support/jaeger.ts';
import { checkDryRun, KUSTOMIZATIONS } from './manifests.ts';
import { checkChart } from './chart.ts';
import { answersQueries } from './prometheus.ts';
import { checkTerraform } from './terraform.ts';

const KUBERNETES = '1.30';

type Body = (program: string) => void | Promise<void>;

export async function checkFiles(report: Report, folder: string): Promise<void> {
  const check = async (program: string, what: string, body: Body): Promise<void> => {
    const path = programPath(program);
    if (path === null) report.notRun(`${what} (${program})`, 'it is not installed');
    else await report.check(`${what} (${program})`, () => body(path));
  };
  await check('hadolint', 'the Dockerfile', (hadolint) => void must(hadolint, ['Dockerfile']));
  await check('compose-check', 'the compositions, and a misspelt key', checkCompositions(folder));
  await check('kustomize', 'the manifests of Kubernetes are built', (kustomize) =>
    KUSTOMIZATIONS.forEach((path) => must(kustomize, ['build', path])),
  );
  await check('kubectl-validate', 'the manifests, and a misspelt key', checkManifests(folder));
  await check('helm', 'the chart, beside the manifests of kustomize', checkChart);
  await checkDryRun(report, folder);
  await checkTerraform(report, folder);
  await check(
    'promtool',
    'the rules and the scrape configuration',
    (promtool) => void must(promtool, ['check', 'config', 'deploy/prometheus/prometheus.yml']),
  );
  await check('prometheus', 'every query is answered from a real scrape', (prometheus) =>
    answersQueries(prometheus, folder),
  );
  await checkCollector(report, folder);
}

/** `compose-check FILE…` loads them with the loader of Docker Compose. */
function checkCompositions(folder: string): Body {
  return (program) => {
    must(program, ['docker-compose.yml']);
    for (const file of globSync('deploy/*/docker-compose.yml')) must(program, ['docker-compose.yml', file]);
    const broken = join(folder, 'docker-compose.yml');
    writeFileSync(broken, readFileSync('docker-compose.yml', 'utf8').replace('read_only:', 'readonly:'));
    demand(run(program, [broken]).code !== 0, 'a misspelt key is accepted');
  };
}

/** With `DEPLOY_CRDS`, a folder with KEDA's definitions, the ScaledObjects are checked too. */
function checkManifests(folder: string): Body {
  return (program) => {
    const definitions = process.env['DEPLOY_CRDS'];
    const flags = definitions === undefined ? [] : ['--local-crds', definitions];
    const isKnown = (text: string): boolean => definitions !== undefined || !text.includes('keda.sh');
    const accepts = (name: string, text: string): boolean => {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return run(program, ['--version', KUBERNETES, ...flags, file]).code === 0;
    };
    for (const file of globSync('deploy/kubernetes/**/*.yaml')) {
      const text = readFileSync(file, 'utf8');
      if (text.includes('kind: Kustomization') || !isKnown(text)) continue;
      demand(accepts(file, text), `${file} is refused`);
      demand(
        !accepts(`broken/${file}`, text.replace('\nmetadata:\n  name:', '\nmetadata:\n  nmae:')),
        `${file}: a misspelt key is accepted`,
      );
    }
  };
}

/** The Jaeger program is a Collector. */
async function checkCollector(report: Report, folder: string): Promise<void> {
  const what = 'the configurations of the Collector and of Jaeger, and a misspelt key';
  const jaeger = await findJaeger(folder);
  if (jaeger === null || !existsSync(jaeger)) return report.notRun(what, 'no Jaeger: set JAEGER_BIN');
  await report.check(what, () => {
    for (const file of ['deploy/collector/collector.yaml', 'deploy/jaeger/jaeger.yaml'])
      must(jaeger, ['validate', '--config', file]);
    const broken = join(folder, 'collector.yaml');
    const text = readFileSync('deploy/collector/collector.yaml', 'utf8');
    writeFileSync(broken, text.replace('decision_wait:', 'decision_wiat:'));
    demand(run(jaeger, ['validate', '--config', broken]).code !== 0, 'a misspelt key is accepted');
  });
}
