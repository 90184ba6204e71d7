// The part of the deployment test that runs in a namespace of its own: starts the composition, checks it, takes it down.
// Must never leave a container, volume or network behind. `inside.ts FILE`: writes its count there.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { composition } from './composition.ts';
import { redisExamples } from './redis-examples.ts';
import { createReport, print } from './report.ts';
import { scenario } from './scenario.ts';

const [file = ''] = process.argv.slice(2);
const report = createReport();
const name = `adjutant-test-${randomBytes(4).toString('hex')}`;
/** The one that runs. */
let project = composition(name);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    project.remove();
    process.exit(1);
  });
try {
  await scenario(report, project);
  if (report.count.failed > 0)
    for (const container of project.containers())
      print(`--- ${container.name}\n${project.logsOf(container)}`);
} finally {
  project.remove();
}
await redisExamples(report, (example, files) => (project = composition(`${name}-${example}`, files)));
writeFileSync(file, JSON.stringify(report.count));
