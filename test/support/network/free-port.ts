import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Ports are below the ephemeral ports of systems (Linux from 32768, others from 49152), so that no process gets one of
// them by chance.
const firstPort = 10_000;
/** The number of port ranges: each process of mocha has its own range. */
const shares = 4;
const portsInShare = 5_000;

const share = Number(process.env['MOCHA_WORKER_ID'] ?? 0) % shares;
let taken = randomInt(portsInShare);

/**
 * Returns a port that no other test gets, for a server that needs the same port after a restart. A server whose port
 * may change listens on port 0 instead.
 */
export async function freePort(): Promise<number> {
  taken = (taken + 1) % portsInShare;
  const port = firstPort + share * portsInShare + taken;
  return (await isFree(port)) ? port : freePort();
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
