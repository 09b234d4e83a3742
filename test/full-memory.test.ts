import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const program = fileURLToPath(new URL('./support/servers/full-memory-server.js', import.meta.url));

interface Result {
  readonly stored: number;
  readonly full?: {
    readonly refused: { readonly retryAfter: string; readonly status: object };
    readonly listed: number;
    readonly larger: string;
    readonly smaller?: string;
    readonly metrics: string;
  };
}

/** Runs the program with a heap of `heap` MiB. Rejects when its exit code is not 0. */
async function runProgram(heap: number, ...options: readonly string[]): Promise<Result> {
  const { stdout } = await run(process.execPath, [`--max-old-space-size=${heap}`, program, ...options]);
  return JSON.parse(stdout) as Result;
}

describe('a server whose memory is full [slow]', function () {
  this.timeout(120_000);

  it('refuses creations and updates that enlarge an object, but allows reads, updates that shrink an object, and deletions, which free memory', async () => {
    const { stored, full } = await runProgram(100, 'memory:', '1000000', '60');
    expect(stored).to.be.above(1000);
    expect(full?.refused.retryAfter).to.equal('10');
    expect(full?.refused.status).to.include({ reason: 'InsufficientStorage', code: 507 });
    expect(full).to.deep.include({ listed: 10, larger: 'InsufficientStorage' });
    expect(full?.smaller).to.equal(undefined);
    expect(full?.metrics).to.match(/^homeostat_memory_refusals_total [1-9]/m);
    expect(full?.metrics).to.match(/^homeostat_memory_limit_share 0\.[89]/m);
  });

  it('does not start when the stored objects need more memory than the limit, and reports how much they need', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-memory-'));
    try {
      const database = `sqlite:${join(folder, 'objects.db')}`;
      await runProgram(1000, database, '80000', '1');
      const start = runProgram(48, database, '0', '1');
      const error: unknown = await start.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.include({ code: 1 });
      const said =
        'stored objects need about \\d+ MiB of memory, and the limit is \\d+ MiB: set NODE_OPTIONS=--max-old-space-size=\\d+';
      expect(String(error)).to.match(new RegExp(said));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
