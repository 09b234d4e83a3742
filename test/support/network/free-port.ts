import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral ports of systems (Linux from 32768, others from 49152), so that no process gets one by chance.
const firstPort = 10_000;
/** Each of mocha's processes has its own range. */
const shares = 4;
const portsInShare = 5_000;

const share = Number(process.env['MOCHA_WORKER_ID'] ?? 0) % shares;
let taken = randomInt(portsInShare);

/**
 * Returns a port for a server that has to keep it while it is down: no other test gets this port. A server whose port
 * may change listens on 0 instead.
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
