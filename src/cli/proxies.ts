/** Sends the requests of `fetch` through the proxies that the environment names.
 *  Never sends a request for this machine through one, nor shows the address of a proxy: it may hold a password. */
import { CliFailure } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Names of this machine: its services and MCP servers are reached directly, as with the clients of Go and Node's own default. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]';

/** Does nothing without a variable. Rejects with a `CliFailure` that names the variable of an address that is none. */
export async function useProxies(environment: Environment): Promise<void> {
  const httpProxy = proxyIn(environment, 'http_proxy');
  const httpsProxy = proxyIn(environment, 'https_proxy');
  if (httpProxy === '' && httpsProxy === '') return;
  const direct = valueOf(environment, 'no_proxy').value.trim();
  // Loaded only here: most commands need no proxy.
  const { EnvHttpProxyAgent, setGlobalDispatcher } = await import('undici');
  const noProxy = direct === '*' ? direct : `${direct},${LOOPBACK}`;
  // Proxies often refuse a tunnel to another port than 443: a request without TLS is sent to the proxy itself.
  setGlobalDispatcher(new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy, proxyTunnel: false }));
}

/** The lower-case name wins, as with curl. */
function valueOf(environment: Environment, name: string): { name: string; value: string } {
  const upper = name.toUpperCase();
  const found = environment[name] === undefined ? upper : name;
  return { name: found, value: environment[found] ?? '' };
}

/** The address with its scheme, which may be left out; '' = there is none. */
function proxyIn(environment: Environment, variable: string): string {
  const { name, value } = valueOf(environment, variable);
  if (value === '') return '';
  const address = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new CliFailure({
    what: `${name} is not the address of an HTTP proxy.`,
    how: `Set it to an address such as http://proxy.example:3128, or unset it.`,
  });
}
