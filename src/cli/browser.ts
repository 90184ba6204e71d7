/** Opens an address in the browser of the person at the terminal. Best effort: the address is printed as well. */
import { spawn } from 'node:child_process';
import type { Terminal } from './terminal.ts';

export function openBrowser(url: string): void {
  const [program = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => FOR_BROWSERS.test(name)));
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true, env });
  child.on('error', () => {});
  child.unref();
}

/** A browser gets no key, password or token of this environment. */
const FOR_BROWSERS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|BROWSER|XDG_.*|DBUS_SESSION_BUS_ADDRESS|WSL.*|SystemRoot|USERPROFILE|APPDATA|LOCALAPPDATA|TEMP|TMP)$/i;

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Prints the address of a request's page in the console on stderr; opens it where a person is at the terminal. */
export function openConsole(terminal: Terminal, baseUrl: string, requestId: string): void {
  const url = `${baseUrl}/console/requests/${encodeURIComponent(requestId)}`;
  terminal.err(`console ${url}`);
  if (terminal.live) openBrowser(url);
}
