/** `npm run demo` shows a killed worker, `npm run demo -- agent` a killed agent. */
const [what = 'worker'] = process.argv.slice(2);
if (what === 'worker') await import('./demo-worker.ts');
else if (what === 'agent') await import('./demo-agent.ts');
else {
  console.error(`There is no demonstration "${what}"; the demonstrations are worker and agent.`);
  process.exitCode = 2;
}
