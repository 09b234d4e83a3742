import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below those that systems hand out (Linux from 32768, others from 49152): no process gets one by chance.
const firstPort = 10_000;
/** Each of mocha's processes takes from a share of its own. */
const shares = 3;
const portsInShare = 7_000;

const share = Number(process.env['MOCHA_WORKER_ID'] ?? 0) % shares;
let taken = randomInt(portsInShare);

/**
 * For a server that has to keep its port while it is down: no other test is given this one. Where the port may be another
 * each time, the server listens on 0 and says which it got.
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
