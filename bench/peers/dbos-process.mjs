/** DBOS in the process of an HTTP server, as its guide has it: workflows of one and of three durable steps that do nothing. */
import { createServer } from 'node:http';
import { DBOS } from '@dbos-inc/dbos-sdk';

const [port, systemDatabaseUrl] = process.argv.slice(2);

const steps = (count) => async () => {
  for (let index = 0; index < count; index += 1)
    await DBOS.runStep(async () => null, { name: `step ${index}` });
  return 'done';
};
const workflows = {
  '/noop/one': DBOS.registerWorkflow(steps(1), { name: 'one' }),
  '/noop/three': DBOS.registerWorkflow(steps(3), { name: 'three' }),
};

DBOS.setConfig({ name: 'noop', systemDatabaseUrl, logLevel: 'error', runAdminServer: false });
await DBOS.launch();
createServer((request, response) => {
  const workflow = workflows[request.url];
  workflow().then(
    (result) => response.end(JSON.stringify(result)),
    (error) => response.writeHead(500).end(String(error)),
  );
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
