import { createServer } from 'node:net';
import { errorText, hasCode } from '../text/error-text.ts';
import type { Finding } from './finding.ts';

/**
 * Judges whether a server can listen on the address. `servedAt` is the URL of a Homeostat server that already responds
 * there.
 */
export async function judgePort(
  { host, port }: { readonly host: string; readonly port: number },
  servedAt: string | undefined,
): Promise<readonly Finding[]> {
  const check = 'port';
  const place = `${host}:${port}`;
  if (servedAt !== undefined) return [{ check, level: 'ok', message: `${servedAt} answers` }];
  try {
    await listenOnce(host, port);
    return [{ check, level: 'ok', message: `${place} is free` }];
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE'))
      return [
        { check, level: 'error', message: `${place} is in use by another program`, cure: 'choose another --port' },
      ];
    const cure = hasCode(error, 'EACCES')
      ? 'choose a --port from 1024 on'
      : 'choose an address of this machine: --host';
    return [{ check, level: 'error', message: `cannot listen on ${place}: ${errorText(error)}`, cure }];
  }
}

async function listenOnce(host: string, port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
