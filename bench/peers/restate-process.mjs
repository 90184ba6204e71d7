/** The service of Restate's rows: handlers of one and of three durable steps that do nothing. */
import { serve, service } from '@restatedev/restate-sdk';

const [port] = process.argv.slice(2);

const steps = (count) => async (context) => {
  for (let index = 0; index < count; index += 1) await context.run(`step ${index}`, async () => null);
  return 'done';
};

await serve({
  services: [service({ name: 'noop', handlers: { one: steps(1), three: steps(3) } })],
  port: Number(port),
});
console.log('ready');
