/** The client of a scenario in a process of its own: opens a transport, then runs the loads it is sent.
 *  It must tell its parent the result of each load, or fail as a process. */
import { type LoadResult, runLoad } from './load.ts';
import type { Target, Transport } from './transport.ts';

export interface LoadRequest {
  readonly count: number;
  readonly concurrency: number;
}

const [kind = '', target = '{}'] = process.argv.slice(2);
const transport = await open(kind, JSON.parse(target) as Target);

process.on('message', (request: LoadRequest) => {
  void run(request).then((result) => process.send?.(result));
});
process.once('SIGTERM', () => {
  process.disconnect();
  void transport.close();
});
process.send?.('ready');

/** The note is made after the clock has stopped. */
async function run({ count, concurrency }: LoadRequest): Promise<LoadResult> {
  const result = await runLoad(transport.operation, count, concurrency);
  const note = await transport.note?.();
  return note === undefined ? result : { ...result, note };
}

/** Each transport is loaded alone, so that none pays for the libraries of another. */
async function open(name: string, at: Target): Promise<Transport> {
  switch (name) {
    case 'bullmq':
      return (await import('./transports/bullmq.ts')).openBullmq(at);
    case 'chain':
      return (await import('./transports/chain.ts')).openChain(at);
    case 'run':
    case 'steps': {
      const { openRun, RUN_AGENT, STEPS_AGENT } = await import('./transports/run.ts');
      return openRun(at, name === 'run' ? RUN_AGENT : STEPS_AGENT);
    }
    case 'steps-http': {
      const { openRunOverHttp, STEPS_AGENT } = await import('./transports/run.ts');
      return openRunOverHttp(at, STEPS_AGENT);
    }
    case 'agent': {
      const { openRunOverHttp, RUN_AGENT } = await import('./transports/run.ts');
      return openRunOverHttp(at, RUN_AGENT);
    }
    case 'bare-agent':
      return (await import('./transports/bare-agent.ts')).openBareAgent(at);
    case 'peer-one':
    case 'peer-three':
      return (await import('./transports/peer.ts')).openPeer(at, name === 'peer-one' ? 'one' : 'three');
    case 'noop-http':
      return (await import('./transports/directive.ts')).openNoopOverHttp(at);
    case 'noop':
      return (await import('./transports/directive.ts')).openNoop(at);
    case 'noop-lanes':
      return (await import('./transports/directive.ts')).openNoopLanes(at);
    case 'http-lanes':
      return (await import('./transports/directive.ts')).openHttpLanes(at);
    case 'direct':
      return (await import('./transports/directive.ts')).openDirect(at);
    case 'http':
      return (await import('./transports/directive.ts')).openHttp(at);
    case 'mcp':
      return (await import('./transports/mcp.ts')).openMcp(at);
    case 'host-direct':
      return (await import('./transports/host.ts')).openHostDirect();
    case 'host-http':
      return (await import('./transports/host.ts')).openHostHttp(at);
    case 'host-stdio':
      return (await import('./transports/host.ts')).openHostStdio(at);
    default:
      throw new Error(`'${name}' is no transport.`);
  }
}
