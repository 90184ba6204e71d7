/** A collector that takes every export and keeps nothing, on a free port.
 *  It must do no more than a collector on another machine would cost this one. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listens on http://127.0.0.1:${port}`);
});
