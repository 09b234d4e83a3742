import { testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const runner = new URL('./run-copy.js', import.meta.url).href;

/** A command that never ends, and prints a line when it starts and when it is aborted. */
const stubborn = `
  const { runCopy } = await import(${JSON.stringify(runner)});
  await runCopy('stubborn', async (signal) => {
    signal.addEventListener('abort', () => console.log('aborted'));
    setInterval(() => undefined, 1000);
    console.log('started');
    await new Promise(() => undefined);
  });`;

describe('a command that a signal can stop', () => {
  it('is aborted by the first signal, and ended by the second, whether both are the same signal or not [slow]', async () => {
    for (const [first, second] of [
      ['SIGTERM', 'SIGINT'],
      ['SIGINT', 'SIGINT'],
    ] as const) {
      const args = [...process.execArgv, '--input-type=module', '--eval', stubborn];
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: testPatienceMs(4000),
        killSignal: 'SIGKILL',
      });
      const closed = once(child, 'close');
      const lines: string[] = [];
      for await (const text of child.stdout.setEncoding('utf8')) {
        lines.push(String(text).trim());
        child.kill(lines.length === 1 ? first : second);
      }
      expect(lines).to.deep.equal(['started', 'aborted']);
      expect(await closed).to.deep.equal([null, second]);
    }
  });
});
