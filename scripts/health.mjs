/** The health check of a container: exit code 0 when the process answers 200 at `/healthz`, or at the path of the first argument.
 *  It must need nothing but Node, and no more time than an orchestrator allows. */
const LONGEST_MS = 2_500;

const [path = 'healthz'] = process.argv.slice(2);
const { ADJUTANT_METRICS_PORT: ownPort = '', ADJUTANT_PORT: apiPort = '' } = process.env;
// A role without the API listens on the port for health and metrics only.
const port = ownPort || apiPort || '7420';
const signal = AbortSignal.timeout(LONGEST_MS);

process.exitCode = await fetch(`http://127.0.0.1:${port}/${path}`, { signal }).then(
  ({ ok }) => (ok ? 0 : 1),
  () => 1,
);
